// What a tuner may change: parameters of a program and environment variables, with the values to
// try.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay {

/// The value of an environment variable or a parameter that is not set.
constexpr std::string_view unset = "unset";

struct Parameter {
  std::string name;
  std::vector<std::string> values;  ///< at least one, none twice
  std::size_t usual = 0;            ///< index of the value in use before tuning
};

/// Whether `word` names an environment variable: in capitals, which neither axes nor a program's
/// parameters are.
bool names_variable(std::string_view word);

/// "NCCL_PROTO=Simple,LL128": usually unset, or one of these values. Error: usage.
Result<Parameter> parse_parameter(std::string_view text);
/// The same, or a flag, which has no value: "enable-chunked-prefill". Error: usage.
Result<Parameter> parse_server_parameter(std::string_view text);

/// `parameters` with those of the same name made one, which has the values of all.
std::vector<Parameter> merged(const std::vector<Parameter>& parameters);

/// What is worth trying for the collectives of a library, "nccl" or "rccl"; nothing for others.
/// NVLink multicast is not touched. Sources: NCCL's and RCCL's documentation of their variables,
/// AMD's MI300X tuning guide (channels).
std::vector<Parameter> usual_parameters(std::string_view library);

}  // namespace assay
