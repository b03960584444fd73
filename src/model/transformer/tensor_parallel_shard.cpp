#include "model/transformer/tensor_parallel_shard.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

constexpr std::int64_t rows_unit = 128;  // as padded_vocabulary() rounds up

}  // namespace

std::int64_t TensorParallelShard::first_kv_head(const TransformerShape& whole) const {
  return rank * whole.kv_heads / ranks;
}

TransformerShape own_shape(const TransformerShape& whole, TensorParallelShard part) {
  TransformerShape own = whole;
  own.heads /= part.ranks;
  own.kv_heads = std::max<std::int64_t>(1, own.kv_heads / part.ranks);
  own.hidden /= part.ranks;
  return own;
}

std::int64_t head_rows(const TransformerShape& whole, TensorParallelShard part) {
  const std::int64_t unit = rows_unit * part.ranks;
  return (whole.vocabulary + unit - 1) / unit * rows_unit;
}

Status validate(const TransformerShape& whole, TensorParallelShard part, bool quantized) {
  TRY(validate_decoder(whole));
  if (quantized) TRY(validate_quantized(whole));
  if (part.is_whole()) return {};
  const auto wrong = [&](const std::string& what) -> Status {
    return Error{ErrorKind::usage, fmt::format("{} ranks: {}", part.ranks, what)};
  };
  if (part.ranks < 1 || part.rank < 0 || part.rank >= part.ranks) {
    return wrong(fmt::format("there is no rank {}", part.rank));
  }
  const std::int64_t n = part.ranks;
  if (whole.heads % n != 0) {
    return wrong(fmt::format("{} heads cannot be dealt out evenly", whole.heads));
  }
  if (whole.kv_heads % n != 0 && n % whole.kv_heads != 0) {
    return wrong(
        fmt::format("{} heads of keys cannot be dealt out evenly, and not be shared by "
                    "equally many ranks",
                    whole.kv_heads));
  }
  if (whole.hidden % n != 0) {
    return wrong(fmt::format("hidden width {} cannot be cut evenly", whole.hidden));
  }
  const TransformerShape own = own_shape(whole, part);
  Status fits = validate_decoder(own);
  if (fits.ok() && quantized) fits = validate_quantized(own);
  if (fits.ok() && quantized && own.query_width() % 16 != 0) {
    fits = Error{ErrorKind::usage, fmt::format("heads are {} wide together, allowed with quantized "
                                               "matrices are multiples of 16",
                                               own.query_width())};
  }
  return fits.ok() ? fits : wrong("each would have " + fits.error().message);
}

}  // namespace assay
