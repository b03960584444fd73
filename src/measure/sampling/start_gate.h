// Holds a stream while work is queued behind it, so that the measured time does not include
// submission.
#pragma once

#include <cstdint>
#include <memory>

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

class Gate {
 public:
  static Result<Gate> create(Device& device);

  /// Queues the gate: later work on `stream` waits until open(), at most one second.
  Status close(Stream& stream);
  void open();
  /// Whether the gate last opened because of its time limit and not because of open(). Call when
  /// the stream is idle.
  bool gave_up() const;

 private:
  Gate(Buffer state, std::unique_ptr<Program> program, Kernel* kernel, std::uint64_t ticks)
      : state_(std::move(state)), program_(std::move(program)), kernel_(kernel), ticks_(ticks) {}

  Buffer state_;  // pinned: two u32, see src/compute/kernels/gate.cu
  std::unique_ptr<Program> program_;
  Kernel* kernel_;
  std::uint64_t ticks_;
};

}  // namespace assay
