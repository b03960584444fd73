#include "model/operations/embedding.h"

namespace assay {

Result<Embedding> Embedding::create(Device& device, DataType type) {
  Embedding made(device.facts(), TRY(Kernels::build(device, "embedding", type)));
  made.embed_ = TRY(made.kernels_.of_type("embed"));
  made.embedding_gradient_ = TRY(made.kernels_.of_type("embedding_gradient"));
  made.position_gradient_ = TRY(made.kernels_.of_type("position_gradient"));
  made.take_batch_ = TRY(made.kernels_.plain("take_batch"));
  return made;
}

Status Embedding::forward(Stream& stream, void* x, const void* embedding, const void* positions,
                          const DeviceBatches& data, BatchChoice choice, std::int64_t sequence,
                          std::int64_t width) {
  return launch(stream, *embed_, shape_of_elements(*facts_, data.tokens_per_batch * width), x,
                embedding, positions, data.tokens(), choice, std::uint64_t(data.tokens_per_batch),
                std::uint64_t(sequence), std::uint64_t(width));
}

Status Embedding::document_starts(Stream& stream, std::int32_t* starts, const DeviceBatches& data,
                                  BatchChoice choice) {
  return launch(stream, *take_batch_, shape_of_elements(*facts_, data.tokens_per_batch), starts,
                data.document_starts(), choice, std::uint64_t(data.tokens_per_batch));
}

Status Embedding::backward(Stream& stream, void* d_embedding, void* d_positions, const void* dx,
                           const DeviceBatches& data, BatchChoice choice, std::int64_t sequence,
                           std::int64_t width, bool add) {
  const std::int64_t count = data.tokens_per_batch;
  constexpr std::int64_t tile = 256;  // embedding_columns of kernels/embedding.cu
  const LaunchShape shape = {
      {static_cast<unsigned>(count), static_cast<unsigned>((width + tile - 1) / tile)},
      {block_threads}};
  TRY(launch(stream, *embedding_gradient_, shape, d_embedding, dx, data.tokens(), data.order(),
             data.starts(), choice, std::uint64_t(count), std::uint64_t(width)));
  if (d_positions == nullptr) return {};
  return launch(stream, *position_gradient_, shape_of_elements(*facts_, sequence * width),
                d_positions, dx, std::uint64_t(count / sequence), std::uint64_t(sequence),
                std::uint64_t(width), add ? 1 : 0);
}

}  // namespace assay
