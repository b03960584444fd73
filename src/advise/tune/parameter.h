// The parameters of a program and the environment variables that a tuner may change, with the
// values to try.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay {

/// The text that stands for "not set" among the values of a variable or parameter.
constexpr std::string_view unset = "unset";

struct Parameter {
  std::string name;
  std::vector<std::string> values;  ///< at least one, none twice
  std::size_t usual = 0;            ///< index of the default: the value in use before tuning
};

/// Returns whether `word`, up to a "=", is the name of an environment variable: those have no small
/// letters, while axes and parameters of programs do.
bool names_variable(std::string_view word);

/// Parses "NCCL_PROTO=Simple,LL128": the default is unset, and these values are tried. Error:
/// usage, also for text that is not UTF-8.
Result<Parameter> parse_parameter(std::string_view text);
/// Parses a parameter as parse_parameter() does, or a flag, which has no value:
/// "enable-chunked-prefill". Error: usage.
Result<Parameter> parse_server_parameter(std::string_view text);

/// Merges parameters of the same name into one that has the values of all, and the default of the
/// first.
std::vector<Parameter> merged(const std::vector<Parameter>& parameters);

/// Returns the parameters worth trying for collectives of "nccl" or "rccl"; empty for other
/// libraries. NVLink multicast is left alone. Sources: NCCL's and RCCL's documentation of their
/// variables, AMD's MI300X tuning guide (channels).
std::vector<Parameter> usual_parameters(std::string_view library);

}  // namespace assay
