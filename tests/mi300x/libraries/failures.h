// Makes the next call of a library function fail, to test how its callers react.
#pragma once

#include <string>
#include <string_view>

namespace mi300x {

class Failures {
 public:
  void fail_next(const char* function, int status) {
    function_ = function;
    status_ = status;
  }
  /// Returns the status that `function` must return now; 0: it works.
  int take(std::string_view function) {
    if (function != function_) return 0;
    function_.clear();
    return status_;
  }

 private:
  std::string function_;
  int status_ = 0;
};

}  // namespace mi300x
