#include "measure/sampling/start_gate.h"

#include <atomic>

namespace assay {
namespace {

std::atomic_ref<std::uint32_t> word(const Buffer& state, int index) {
  return std::atomic_ref<std::uint32_t>(state.as<std::uint32_t>()[index]);
}

}  // namespace

Result<Gate> Gate::create(Device& device) {
  Buffer state = TRY(device.allocate(2 * sizeof(std::uint32_t), MemoryKind::pinned));
  std::unique_ptr<Program> program = TRY(device.build({"gate", {}}));
  Kernel* kernel = TRY(program->kernel("gate"));
  const auto one_second = static_cast<std::uint64_t>(device.facts().tick_hz);
  return Gate(std::move(state), std::move(program), kernel, one_second);
}

Status Gate::close(Stream& stream) {
  word(state_, 0).store(0);
  word(state_, 1).store(0);
  return launch(stream, *kernel_, {}, state_.as<std::uint32_t>(), ticks_);
}

void Gate::open() {
  word(state_, 0).store(1);
}

bool Gate::gave_up() const {
  return word(state_, 1).load() != 0;
}

}  // namespace assay
