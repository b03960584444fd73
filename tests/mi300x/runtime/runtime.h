// The runtime's state: devices, failures on demand, and the common entry and exit of HIP's
// functions.
#pragma once

#include <hip/hip_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "emulator/fault.h"
#include "runtime/injection.h"
#include "runtime/machine.h"

namespace mi300x::runtime {

/// The major release of ROCm that this runtime imitates. Release 6 changed the layouts of
/// properties and pointer attributes; release 7 has more functions.
extern const int hip_release;

class Device {
 public:
  Device(int number, const Machine& machine);

  const int ordinal;
  const Chip chip;
  const std::uint64_t memory_bytes;

  // ---- Failure: a fault in a kernel stops its device for good ----

  /// Returns the result of calls on the device. `waits` is for calls that launch or wait, which
  /// fail once the device is lost.
  hipError_t failure(bool waits = false) const;
  void fail(hipError_t error, const std::string& message);
  /// Counts a launch; returns false if the device is lost at this launch.
  bool begin_launch();

  std::atomic<std::uint64_t> used{0};  ///< bytes of memory

  // ---- Streams ----

  /// Returns stream 0, which is ordered with all streams that are not NonBlocking. It is created on
  /// first use.
  std::shared_ptr<ihipStream_t> default_stream();
  void add(const std::shared_ptr<ihipStream_t>& stream);
  std::vector<std::shared_ptr<ihipStream_t>> streams() const;

  /// Enables `peer`; returns whether it was enabled before.
  bool enable_peer(int peer);
  bool disable_peer(int peer);

 private:
  std::atomic<hipError_t> failure_{hipSuccess};
  std::atomic<bool> lost_{false};
  std::atomic<std::uint64_t> launches_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<ihipStream_t> default_;
  mutable std::vector<std::weak_ptr<ihipStream_t>> streams_;
  std::set<int> peers_;
};

class Runtime {
 public:
  /// The instance is never destroyed, because its threads may outlive static objects.
  static Runtime& instance();

  void reset();
  int devices() const { return static_cast<int>(devices_.size()); }
  bool valid(int device) const { return device >= 0 && device < devices(); }
  Device& device(int ordinal) { return *devices_[static_cast<std::size_t>(ordinal)]; }
  Device& current();

  Machine machine;
  Injection injection;
  std::atomic<int> last_priority{0};
  std::atomic<bool> ending{false};  ///< set when the process ends, so that kernels stop

  void note_fault(const std::string& message);
  const char* last_fault() const;

 private:
  Runtime();

  std::vector<std::unique_ptr<Device>> devices_, retired_;
  mutable std::mutex mutex_;
  std::string last_fault_;
};

extern thread_local int current_device;
extern thread_local hipError_t last_error;

/// Returns the HIP error for a Fault.
hipError_t error_of(const Fault& fault);

/// Wraps every function of the runtime: counts it, makes it fail on demand, and keeps its error.
template <typename Body>
hipError_t call(const char* function, const Body& body) {
  hipError_t error = Runtime::instance().injection.called(function);
  if (error == hipSuccess) error = body();
  if (error != hipSuccess && error != hipErrorNotReady) last_error = error;
  return error;
}

/// Wraps functions that need a working current device.
template <typename Body>
hipError_t device_call(const char* function, const Body& body) {
  return call(function, [&] {
    if (!Runtime::instance().valid(current_device)) return hipErrorNoDevice;
    const hipError_t failure = Runtime::instance().current().failure();
    return failure != hipSuccess ? failure : body();
  });
}

/// Returns seconds on the host's steady clock; the model's clock has the same origin.
double host_seconds();

}  // namespace mi300x::runtime
