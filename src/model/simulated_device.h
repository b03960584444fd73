// A device that computes nothing and takes no time but what its streams are told: what work would
// wait for what, on hardware that is not here.
#pragma once

#include <memory>

#include "compute/device/device.h"

namespace assay {

/// Its time is that of the work queued so far.
class SimulatedStream : public Stream {
 public:
  /// Work that takes so long.
  virtual void advance(double seconds) = 0;
  /// When all work queued so far is complete; the stream began at 0.
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
