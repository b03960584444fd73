#include "model/operations/token_logprobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {

double RowLogprobs::of(float logit) const {
  return static_cast<double>(logit) - static_cast<double>(largest) - std::log(sum);
}

Result<TokenLogprobs> TokenLogprobs::create(Device& device, DataType type, std::int64_t most_rows) {
  TokenLogprobs made(device.facts(), TRY(Kernels::build(device, "token_logprobs", type)));
  made.likeliest_ = TRY(made.kernels_.of_type("likeliest"));
  made.chosen_logits_ = TRY(made.kernels_.of_type("chosen_logits"));
  const auto rows = static_cast<std::size_t>(most_rows);
  made.wanted_ = TRY(device.allocate(rows * sizeof(LogprobRow), MemoryKind::device));
  made.found_ = TRY(device.allocate(rows * sizeof(RowLogprobs), MemoryKind::device));
  return made;
}

Status TokenLogprobs::find_likeliest(Stream& stream, const void* logits,
                                     std::span<const LogprobRow> wanted, std::int64_t vocabulary,
                                     std::int64_t columns) {
  constexpr std::int64_t threads = 1024;  // as in the kernel
  const std::int64_t most = std::min<std::int64_t>(most_logprobs, vocabulary);
  if (wanted.size_bytes() > wanted_.bytes()) {
    return Error{ErrorKind::usage,
                 fmt::format("log probabilities of {} rows, allowed are {}", wanted.size(),
                             wanted_.bytes() / sizeof(LogprobRow))};
  }
  for (const LogprobRow& row : wanted) {
    if (row.count >= 0 && row.count <= most) continue;
    return Error{ErrorKind::usage, fmt::format("log probabilities of the {} likeliest tokens, "
                                               "allowed are 0 to {}",
                                               row.count, most)};
  }
  rows_ = std::ssize(wanted);
  TRY(stream.copy(wanted_.data(), wanted.data(), wanted.size_bytes()));
  return launch(stream, *likeliest_, shape_of_rows(*facts_, rows_, vocabulary, threads),
                found_.as<RowLogprobs>(), logits, wanted_.as<const LogprobRow>(),
                std::uint64_t(rows_), std::uint64_t(vocabulary), std::uint64_t(columns));
}

Status TokenLogprobs::find_chosen(Stream& stream, const void* next, const void* logits,
                                  std::int64_t columns, const void* penalties) {
  return launch(stream, *chosen_logits_,
                shape_of_rows(*facts_, rows_, std::int64_t{row_pack} * block_threads),
                found_.as<RowLogprobs>(), next, logits, wanted_.as<const LogprobRow>(),
                std::uint64_t(rows_), std::uint64_t(columns), penalties);
}

Status TokenLogprobs::copy_to(Stream& stream, std::span<RowLogprobs> found) const {
  return stream.copy(found.data(), found_.data(), found.size_bytes());
}

}  // namespace assay
