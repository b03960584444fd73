// Settings to try: environment variables or parameters of a program, with the values to try.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay {

/// One variable with one value.
struct Setting {
  std::string variable, value;
};

/// Variables set together; empty: nothing is changed.
using Settings = std::vector<Setting>;

/// "NCCL_PROTO=Simple,LL128": one Setting for each value. Error: usage.
Result<std::vector<Setting>> parse_setting(std::string_view text);

/// Whether `word` names an environment variable: in capitals, which neither axes nor a program's
/// parameters are.
bool names_variable(std::string_view word);

/// Settings worth trying for the collectives of a library, "nccl" or "rccl"; none for others.
/// NVLink multicast is not touched. Sources: NCCL's and RCCL's documentation of their variables,
/// AMD's MI300X tuning guide (channels).
std::vector<std::vector<Setting>> usual_settings(std::string_view library);

/// First nothing set, then each value of each variable alone or, if `combined`, every combination.
/// Error: usage, if there are more than 200.
Result<std::vector<Settings>> candidates(const std::vector<std::vector<Setting>>& variables,
                                         bool combined);

/// "NCCL_PROTO=Simple NCCL_ALGO=Ring"; a flag, which has no value, is its name; "unchanged" for
/// none.
std::string text_of(const Settings& settings);

}  // namespace assay
