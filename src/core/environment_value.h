// Variables of this process's environment that mean the same whether they are empty or not set.
#pragma once

#include <cstdlib>
#include <string>

namespace assay {

/// Returns the value of a variable; empty if it is not set. No thread may change the environment
/// meanwhile.
inline std::string environment_value(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace assay
