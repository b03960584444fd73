// The result of checking a case's results.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace assay {

/// The result of a verification.
struct Verification {
  bool passed = false;
  std::string method;    ///< "every element against its closed form", ...
  double error = 0;      ///< the measured deviation, in the method's own unit
  double tolerance = 0;  ///< the largest `error` that passes
  std::string detail;    ///< what is wrong, such as an element with its value and the expected one
};

/// Makes the result of a check that counts `wrong` elements and passes if and only if there are
/// none. `detail` is dropped if it passes.
inline Verification exact_verification(std::string method, std::uint64_t wrong,
                                       std::string detail) {
  if (wrong == 0) detail.clear();
  return {wrong == 0, std::move(method), static_cast<double>(wrong), 0, std::move(detail)};
}

}  // namespace assay
