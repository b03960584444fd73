#include "model/operations/loss_history.h"

#include <algorithm>

#include "compute/device/helpers.h"

namespace assay {

Result<LossHistory> LossHistory::create(Device& device) {
  LossHistory made(TRY(Kernels::build(device, "loss_history", DataType::f32)));
  made.record_loss_ = TRY(made.kernels_.plain("record_loss"));
  made.history_ = TRY(device.allocate(length * sizeof(float), MemoryKind::device));
  return made;
}

Status LossHistory::record(Stream& stream, const void* losses, BatchChoice choice,
                           std::int64_t rows, bool first) {
  return launch(stream, *record_loss_, {{1}, {block_threads}}, history_.data(), losses, choice,
                std::uint64_t(rows), std::uint64_t(length), first ? 1 : 0);
}

Result<std::vector<float>> LossHistory::read(Stream& stream, std::uint64_t first,
                                             std::uint64_t count) const {
  constexpr auto places = static_cast<std::uint64_t>(length);
  std::vector<float> wanted;
  for (std::uint64_t step = first; step < first + count;) {
    const std::uint64_t at = step % places, here = std::min(places - at, first + count - step);
    const auto part = TRY(read_back<float>(stream, history_.as<float>() + at, here));
    wanted.insert(wanted.end(), part.begin(), part.end());
    step += here;
  }
  return wanted;
}

}  // namespace assay
