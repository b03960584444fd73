// A setting: what of a program or its environment differs from how it usually runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace assay {

/// One parameter or environment variable with its value; a flag has none.
struct Setting {
  std::string variable, value;
};

/// Set together; empty: nothing is changed.
using Settings = std::vector<Setting>;

/// Those that are environment variables, as programs take them.
std::vector<std::pair<std::string, std::string>> variables_of(const Settings& settings);

/// "NCCL_PROTO=Simple NCCL_ALGO=Ring"; a flag is its name; "unchanged" for none.
std::string text_of(const Settings& settings);

}  // namespace assay
