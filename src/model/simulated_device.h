// A device that computes nothing and takes no time but what its streams are told: what work would
// wait for what, on hardware that is not here.
#pragma once

#include <memory>

#include "compute/device/device.h"

namespace assay {

/// Work of several streams goes on at the same time, and may slow each other down.
class SimulatedStream : public Stream {
 public:
  /// Work that takes so many seconds alone, and `slowed` times as long while other streams of the
  /// device work, too.
  virtual void advance(double seconds, double slowed = 1) = 0;
  /// When all work queued on this stream so far is complete, in s; the device began at 0. What is
  /// queued later begins after all that is queued on the device now.
  virtual double now() const = 0;
};

/// Streams, events and memory without contents; kernels, copies and fills take no time. Buffers
/// have addresses that nothing may read or write. Graphs are unsupported.
std::unique_ptr<Device> make_simulated_device();

/// A stream of a simulated device.
inline SimulatedStream& simulated(Stream& stream) {
  return static_cast<SimulatedStream&>(stream);
}

}  // namespace assay
