// Failures on demand: MI300X_FAULT is a comma-separated list of
//   FUNCTION:N:ERROR  the N-th call of a function fails, e.g. hipMalloc:3:hipErrorOutOfMemory
//   lost:N            after its N-th launch a device is lost
//   hang:KERNEL       that kernel never ends
//   KIND:RATE:SEED    the chip computes wrongly (emulator/corruption.h), e.g. mfma:1e-6:1
//   no_graph_events   graphs record none of their events, as in some releases of HIP
#pragma once

#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace mi300x::runtime {

class Injection {
 public:
  /// Throws std::invalid_argument naming the invalid word.
  void read(const std::string& text);
  void fail_next(const std::string& function, hipError_t error);

  /// Counts a call of `function`; returns the error with which the call must fail, or success.
  hipError_t called(const std::string& function);
  /// Returns how often each function was called.
  std::map<std::string, std::uint64_t> calls() const;

  bool hangs(const std::string& kernel) const;
  bool loses_graph_events() const;
  /// Returns whether a device is lost at its launch number `launch`.
  bool loses(std::uint64_t launch) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> calls_;
  std::map<std::string, std::map<std::uint64_t, hipError_t>>
      failures_;  // function -> call -> error
  std::set<std::string> hanging_;
  bool loses_graph_events_ = false;
  std::optional<std::uint64_t> launches_;  // launches of a device before it is lost
};

}  // namespace mi300x::runtime
