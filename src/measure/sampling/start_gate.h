// A gate in a stream: the work that is queued behind the gate starts when the host opens it, so
// that the measured time does not include the time to queue the work.
#pragma once

#include <cstdint>
#include <memory>

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

class Gate {
 public:
  /// Error: as from the device's calls.
  static Result<Gate> create(Device& device);

  /// Queues a closed gate: later work on `stream` waits until open(), at most one second after the
  /// stream reaches the gate. Call it again only when the stream has passed the gate of the call
  /// before. This object must live until the stream has passed. Error: as launch()
  /// (compute/device/device.h).
  Status close(Stream& stream);
  void open();  ///< any thread may call it
  /// Returns whether the gate last opened because of its time limit and not because of open(). Call
  /// when the stream is idle.
  bool gave_up() const;

 private:
  Gate(Buffer state, std::unique_ptr<Program> program, Kernel* kernel, std::uint64_t ticks)
      : state_(std::move(state)), program_(std::move(program)), kernel_(kernel), ticks_(ticks) {}

  Buffer state_;  // pinned: two u32, see src/compute/kernels/gate.cu
  std::unique_ptr<Program> program_;
  Kernel* kernel_;
  std::uint64_t ticks_;  // one second of the device's clock
};

}  // namespace assay
