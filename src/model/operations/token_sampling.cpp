#include "model/operations/token_sampling.h"

namespace assay {

Result<TokenSampling> TokenSampling::create(Device& device, DataType type) {
  TokenSampling made(device.facts(), TRY(Kernels::build(device, "token_sampling", type)));
  made.draw_tokens_ = TRY(made.kernels_.of_type("draw_tokens"));
  return made;
}

Status TokenSampling::draw(Stream& stream, void* next, const void* logits, const void* drawn,
                           std::int64_t count, std::int64_t vocabulary, std::int64_t columns) {
  constexpr std::int64_t threads = 1024;  // as in the kernel
  return launch(stream, *draw_tokens_, shape_of_rows(*facts_, count, vocabulary, threads), next,
                logits, drawn, std::uint64_t(count), std::uint64_t(vocabulary),
                std::uint64_t(columns));
}

}  // namespace assay
