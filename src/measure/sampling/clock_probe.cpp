#include "measure/sampling/clock_probe.h"

#include <algorithm>

#include "compute/device/helpers.h"

namespace assay {
namespace {

/// The lowest multiprocessor that a block ran on; some chips have no multiprocessor 0.
Result<std::uint32_t> lowest_multiprocessor(Device& device, Program& program, unsigned blocks) {
  const std::unique_ptr<Stream> stream = TRY(device.create_stream());
  constexpr std::uint32_t looked_at = 4096;  // above the highest number of any chip
  const Buffer present = TRY(device.allocate(looked_at * sizeof(looked_at), MemoryKind::device));
  TRY(stream->fill(present.data(), 0, present.bytes()));
  Kernel* mark = TRY(program.kernel("mark_multiprocessors"));
  TRY(launch(*stream, *mark, {{blocks}, {1}}, present.data(), looked_at));
  const auto marks = TRY(read_back<std::uint32_t>(*stream, present.data(), looked_at));
  const auto lowest = std::find(marks.begin(), marks.end(), 1u);
  return static_cast<std::uint32_t>(lowest == marks.end() ? 0 : lowest - marks.begin());
}

}  // namespace

Result<ClockProbe> ClockProbe::create(Device& device) {
  ClockProbe probe;
  if (!device.facts().cycle_counter) return probe;
  probe.readings_ = TRY(device.allocate(4 * sizeof(std::uint64_t), MemoryKind::pinned));
  probe.program_ = TRY(device.build({"clock", {}}));
  probe.kernel_ = TRY(probe.program_->kernel("read_clock"));
  probe.blocks_ = static_cast<unsigned>(device.facts().multiprocessors);
  probe.multiprocessor_ = TRY(lowest_multiprocessor(device, *probe.program_, probe.blocks_));
  probe.tick_hz_ = device.facts().tick_hz;
  return probe;
}

Status ClockProbe::read(Stream& stream, int slot) {
  if (kernel_ == nullptr) return {};
  auto* reading = readings_.as<std::uint64_t>() + 2 * slot;
  reading[0] = reading[1] = 0;
  return launch(stream, *kernel_, {{blocks_}, {1}}, reading, multiprocessor_);
}

std::optional<double> ClockProbe::clock_hz() const {
  if (kernel_ == nullptr) return std::nullopt;
  const auto* reading = readings_.as<std::uint64_t>();
  // It is possible that no block ran on the chosen multiprocessor; and a span under 2 us is mostly
  // the probes themselves.
  if (reading[1] == 0 || reading[3] <= reading[1]) return std::nullopt;
  const double seconds = static_cast<double>(reading[3] - reading[1]) / tick_hz_;
  if (seconds < 2e-6 || reading[2] <= reading[0]) return std::nullopt;
  return static_cast<double>(reading[2] - reading[0]) / seconds;
}

}  // namespace assay
