// Holds a stream while work is queued behind it, so that submitting is not part of the time.
#pragma once

#include <cstdint>
#include <memory>

#include "compute/device/device.h"
#include "core/result.h"

namespace assay {

class Gate {
 public:
  static Result<Gate> create(Device& device);

  /// Queues the gate: what follows on `stream` waits until open(), at most one second.
  Status close(Stream& stream);
  void open();
  /// After the stream is idle: whether the last closing ended by its time limit instead of open().
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
