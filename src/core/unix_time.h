// Times that processes of one host can compare.
#pragma once

#include <chrono>
#include <cstdint>

namespace assay {

/// Returns when `when` was, in ns since 1970 by the system's clock as it stands now.
inline std::int64_t unix_time(std::chrono::steady_clock::time_point when) {
  using std::chrono::nanoseconds;
  const auto ago = std::chrono::steady_clock::now() - when;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<nanoseconds>(now).count() -
         std::chrono::duration_cast<nanoseconds>(ago).count();
}

}  // namespace assay
