#include "model/operations/token_sampling.h"

#include <fmt/format.h>

namespace assay {

Result<TokenSampling> TokenSampling::create(Device& device, DataType type) {
  TokenSampling made(device.facts(), TRY(Kernels::build(device, "token_sampling", type)));
  made.draw_tokens_ = TRY(made.kernels_.of_type("draw_tokens"));
  made.penalize_ = TRY(made.kernels_.of_type("penalize"));
  return made;
}

Status TokenSampling::penalize(Stream& stream, void* logits, const void* penalties,
                               std::int64_t count, std::int64_t columns) {
  return launch(stream, *penalize_, shape_of_elements(*facts_, count * row_pack), logits, penalties,
                std::uint64_t(count), std::uint64_t(columns));
}

Status TokenSampling::draw(Stream& stream, void* next, const void* logits, const void* drawn,
                           std::int64_t count, std::int64_t vocabulary, std::int64_t columns) {
  constexpr std::int64_t threads = 1024, most_tokens = 1 << 18;  // as in the kernel
  if (vocabulary > most_tokens) {
    return Error{ErrorKind::unsupported, fmt::format("tokens are drawn from up to {}, not from {}",
                                                     most_tokens, vocabulary)};
  }
  return launch(stream, *draw_tokens_, shape_of_rows(*facts_, count, vocabulary, threads), next,
                logits, drawn, std::uint64_t(count), std::uint64_t(vocabulary),
                std::uint64_t(columns));
}

}  // namespace assay
