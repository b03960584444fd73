// A setting: how a program's parameters and environment differ from the default.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace assay {

/// One parameter or environment variable with its value; a flag has none.
struct Setting {
  std::string variable, value;
};

/// Settings that are applied together; empty: nothing is changed.
using Settings = std::vector<Setting>;

/// Returns the settings that are environment variables (names_variable()), as names and values.
std::vector<std::pair<std::string, std::string>> variables_of(const Settings& settings);

/// Returns the settings as text: "NCCL_PROTO=Simple NCCL_ALGO=Ring"; a flag is its name;
/// "unchanged" if there are none.
std::string text_of(const Settings& settings);

}  // namespace assay
