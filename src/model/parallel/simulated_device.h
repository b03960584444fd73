// A device that computes nothing and takes no time but what its streams are told: what work would
// wait for what, on hardware that is not here.
#pragma once

#include <map>
#include <memory>

#include "compute/device/device.h"

namespace assay {

struct SimulatedWork {
  double seconds = 0;                 ///< that it takes alone
  int kind = 0;                       ///< any number
  std::map<int, double> slowed = {};  ///< how many times as long beside work of a kind; else 1
};

/// Work of several streams runs at the same time, and may slow each other down.
class SimulatedStream : public Stream {
 public:
  virtual void advance(const SimulatedWork& work) = 0;
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
