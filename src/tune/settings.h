// Settings to try: variables of the environment or parameters of a program, and the values each may
// have.
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

/// Variables set together; empty: as it is.
using Settings = std::vector<Setting>;

/// "NCCL_PROTO=Simple,LL128": each value alone. Error: usage.
Result<std::vector<Setting>> parse_setting(std::string_view text);

/// Variables of the environment are in capitals: neither axes nor a program's parameters are.
bool names_variable(std::string_view word);

/// What is worth trying for collectives of a library, "nccl" or "rccl"; none for others. NVLink
/// multicast is left as it is. Sources: NCCL's and RCCL's documentation of their variables, AMD's
/// MI300X tuning guide (channels).
std::vector<std::vector<Setting>> usual_settings(std::string_view library);

/// Nothing set; then each value of each variable alone; or, if `combined`, every combination. At
/// most 200. Error: usage, with their number.
Result<std::vector<Settings>> candidates(const std::vector<std::vector<Setting>>& variables,
                                         bool combined);

/// "NCCL_PROTO=Simple NCCL_ALGO=Ring"; a flag, which has no value, is its name; "as it is" for
/// none.
std::string text_of(const Settings& settings);

}  // namespace assay
