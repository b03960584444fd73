// The engine clock during a sample, from cycle counter and wall clock read on the device just
// before and just after it. Works in containers and VMs where the driver's sensors are out of
// reach.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

class ClockProbe {
 public:
  /// On a device without a readable cycle counter the probe queues nothing and knows nothing.
  static Result<ClockProbe> create(Device& device);

  Status read_before(Stream& stream) { return read(stream, 0); }
  Status read_after(Stream& stream) { return read(stream, 1); }
  /// After the stream is idle: mean clock between the two readings, in Hz.
  std::optional<double> clock_hz() const;

 private:
  ClockProbe() = default;
  Status read(Stream& stream, int slot);

  Buffer readings_;  // pinned: {cycles, wall ticks} before, then after
  std::unique_ptr<Program> program_;
  Kernel* kernel_ = nullptr;
  unsigned blocks_ = 0;
  std::uint32_t multiprocessor_ = 0;  // the one that reads
  double tick_hz_ = 0;
};

}  // namespace assay
