// Measures the engine clock during a sample from a cycle counter and a wall clock, both read on the
// device just before and after it. This works in containers and VMs, where the driver's sensors may
// be inaccessible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

class ClockProbe {
 public:
  /// On a device without a readable cycle counter, the probe queues nothing and clock_hz() is
  /// empty. Error: as from the device's calls.
  static Result<ClockProbe> create(Device& device);

  Status read_before(Stream& stream) { return read(stream, 0); }
  Status read_after(Stream& stream) { return read(stream, 1); }
  /// The mean clock between the two readings, in Hz. Call when the stream is idle. Empty if the
  /// readings are less than 2 us apart, because they take time themselves, or if no block of a
  /// reading ran on the chosen multiprocessor.
  std::optional<double> clock_hz() const;

 private:
  ClockProbe() = default;
  Status read(Stream& stream, int slot);

  Buffer readings_;  // pinned: {cycles, wall ticks} before, then after
  std::unique_ptr<Program> program_;
  Kernel* kernel_ = nullptr;
  unsigned blocks_ = 0;
  std::uint32_t multiprocessor_ = 0;  // number of the multiprocessor whose counters are read
  double tick_hz_ = 0;
};

}  // namespace assay
