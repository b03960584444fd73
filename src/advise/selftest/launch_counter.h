// A number on the device that a kernel increments: it shows what has run.
#pragma once

#include <memory>
#include <string_view>

#include "advise/selftest/check.h"

namespace assay::selftest {

class LaunchCounter {
 public:
  /// Makes a counter. Afterwards the number is 0, and the stage's stream is idle. `stage.stream`
  /// must outlive the result.
  static Result<LaunchCounter> create(Stage& stage);

  /// Returns the kernel, whose only argument is address().
  Kernel& kernel() const { return *kernel_; }
  unsigned* address() const { return number_.as<unsigned>(); }
  /// Queues one run of the kernel.
  Status increment(Stream& stream) const;
  /// Waits for the stage's stream and compares the number; `when` says what has happened, "after a
  /// replay". Error: verification if the number is not `expected`; as the device's calls.
  Status expect(unsigned expected, std::string_view when) const;

 private:
  LaunchCounter(Stream& stream, std::unique_ptr<Program> program, Kernel& kernel, Buffer number)
      : stream_(&stream),
        program_(std::move(program)),
        kernel_(&kernel),
        number_(std::move(number)) {}

  Stream* stream_;
  std::unique_ptr<Program> program_;
  Kernel* kernel_;
  Buffer number_;
};

}  // namespace assay::selftest
