#include "model/operations/token_rows.h"

namespace assay {

Result<TokenRows> TokenRows::create(Device& device, DataType type) {
  TokenRows made(device.facts(), TRY(Kernels::build(device, "token_rows", type)));
  made.gather_rows_ = TRY(made.kernels_.of_type("gather_rows"));
  made.most_likely_ = TRY(made.kernels_.of_type("most_likely"));
  made.advance_tokens_ = TRY(made.kernels_.plain("advance_tokens"));
  return made;
}

Status TokenRows::gather(Stream& stream, void* y, const void* x, const void* indices,
                         std::int64_t count, std::int64_t width) {
  return launch(stream, *gather_rows_, shape_of_elements(*facts_, count * width), y, x, indices,
                std::uint64_t(count), std::uint64_t(width));
}

Status TokenRows::most_likely(Stream& stream, void* next, const void* logits, std::int64_t rows,
                              std::int64_t vocabulary, std::int64_t columns) {
  constexpr std::int64_t largest_block = 1024;
  return launch(stream, *most_likely_, shape_of_rows(*facts_, rows, vocabulary, largest_block),
                next, logits, std::uint64_t(rows), std::uint64_t(vocabulary),
                std::uint64_t(columns));
}

Status TokenRows::advance(Stream& stream, void* tokens, void* positions, const void* next,
                          std::int64_t count) {
  return launch(stream, *advance_tokens_, shape_of_elements(*facts_, count * row_pack), tokens,
                positions, next, std::uint64_t(count));
}

}  // namespace assay
