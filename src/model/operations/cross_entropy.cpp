#include "model/operations/cross_entropy.h"

namespace assay {

Result<CrossEntropy> CrossEntropy::create(Device& device, DataType type) {
  CrossEntropy made(device.facts(), TRY(Kernels::build(device, "cross_entropy", type)));
  made.cross_entropy_ = TRY(made.kernels_.of_type("cross_entropy"));
  return made;
}

Status CrossEntropy::forward_backward(Stream& stream, void* logits, void* losses,
                                      const DeviceBatches& data, BatchChoice choice,
                                      std::int64_t first, std::int64_t rows,
                                      std::int64_t vocabulary, std::int64_t columns) {
  // Large blocks: with few rows at work at once, the second reading finds them in the cache.
  constexpr std::int64_t most_threads = 512;  // as in kernels/cross_entropy.cu
  return launch(stream, *cross_entropy_, shape_of_rows(*facts_, rows, columns, most_threads),
                logits, static_cast<float*>(losses) + first, data.targets() + first, choice,
                std::uint64_t(rows), std::uint64_t(data.tokens_per_batch),
                std::uint64_t(vocabulary), std::uint64_t(columns));
}

}  // namespace assay
