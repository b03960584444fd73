#include "measure/clock_probe.h"

namespace assay {

Result<ClockProbe> ClockProbe::create(Device& device) {
  ClockProbe probe;
  if (!device.facts().cycle_counter) return probe;
  probe.readings_ = TRY(device.allocate(4 * sizeof(std::uint64_t), MemoryKind::pinned));
  probe.program_ = TRY(device.build({"clock", {}}));
  probe.kernel_ = TRY(probe.program_->kernel("read_clock"));
  probe.blocks_ = static_cast<unsigned>(device.facts().multiprocessors);
  probe.tick_hz_ = device.facts().tick_hz;
  return probe;
}

Status ClockProbe::read(Stream& stream, int slot) {
  if (kernel_ == nullptr) return {};
  auto* reading = readings_.as<std::uint64_t>() + 2 * slot;
  reading[0] = reading[1] = 0;
  return launch(stream, *kernel_, {{blocks_}, {1}}, reading);
}

std::optional<double> ClockProbe::clock_hz() const {
  if (kernel_ == nullptr) return std::nullopt;
  const auto* reading = readings_.as<std::uint64_t>();
  // No block may have run on multiprocessor 0; and a span under 2 us is mostly the probes
  // themselves.
  if (reading[1] == 0 || reading[3] <= reading[1]) return std::nullopt;
  const double seconds = static_cast<double>(reading[3] - reading[1]) / tick_hz_;
  if (seconds < 2e-6 || reading[2] <= reading[0]) return std::nullopt;
  return static_cast<double>(reading[2] - reading[0]) / seconds;
}

}  // namespace assay
