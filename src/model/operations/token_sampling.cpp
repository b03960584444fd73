#include "model/operations/token_sampling.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {

namespace {

constexpr std::int64_t bytes_of_sums = 12304;  // of a part of a row, as in the kernel

/// How many blocks share a row when its weights are added up.
std::int64_t parts_of_rows(const DeviceFacts& facts, std::int64_t rows, std::int64_t vocabulary) {
  constexpr std::int64_t most = 16;                  // the sums of more take long to add up
  constexpr std::int64_t least = 2 * block_threads;  // tokens that are worth a part
  if (facts.runs_on_host) return 1;
  const std::int64_t wanted = facts.multiprocessors / std::max<std::int64_t>(rows, 1);
  return std::clamp<std::int64_t>(std::min(wanted, vocabulary / least), 1, most);
}

}  // namespace

Result<TokenSampling> TokenSampling::create(Device& device, DataType type, std::int64_t most_rows) {
  TokenSampling made(device, TRY(Kernels::build(device, "token_sampling", type)), most_rows);
  made.sum_masses_ = TRY(made.kernels_.of_type("sum_masses"));
  made.draw_tokens_ = TRY(made.kernels_.of_type("draw_tokens"));
  made.penalize_ = TRY(made.kernels_.of_type("penalize"));
  return made;
}

Status TokenSampling::penalize(Stream& stream, void* logits, void* penalties, std::int64_t count,
                               std::int64_t columns) {
  return launch(stream, *penalize_, shape_of_elements(device_->facts(), count * row_pack), logits,
                penalties, std::uint64_t(count), std::uint64_t(columns));
}

Status TokenSampling::reserve() {
  if (sums_.data() != nullptr) return {};
  const auto most_parts = std::max<std::int64_t>(most_rows_, device_->facts().multiprocessors);
  sums_ = TRY(
      device_->allocate(static_cast<std::size_t>(most_parts * bytes_of_sums), MemoryKind::device));
  return {};
}

Status TokenSampling::draw(Stream& stream, void* next, const void* logits, const void* drawn,
                           std::int64_t count, std::int64_t vocabulary, std::int64_t columns) {
  constexpr std::int64_t threads = 1024, most_tokens = 1 << 18;  // as in the kernel
  if (vocabulary > most_tokens) {
    return Error{ErrorKind::unsupported, fmt::format("tokens are drawn from up to {}, not from {}",
                                                     most_tokens, vocabulary)};
  }
  const std::int64_t parts = parts_of_rows(device_->facts(), count, vocabulary);
  if (count > most_rows_) {
    return Error{
        ErrorKind::usage,
        fmt::format("tokens of {} rows are drawn at once, allowed are {}", count, most_rows_)};
  }
  TRY(reserve());
  LaunchShape shape = shape_of_rows(device_->facts(), count, vocabulary / parts, threads);
  shape.grid.y = static_cast<unsigned>(parts);
  TRY(launch(stream, *sum_masses_, shape, sums_.data(), next, logits, drawn, std::uint64_t(count),
             std::uint64_t(vocabulary), std::uint64_t(columns), std::uint64_t(parts)));
  return launch(stream, *draw_tokens_, shape_of_rows(device_->facts(), count, vocabulary, threads),
                {.programmatic = true}, next, sums_.data(), logits, drawn, std::uint64_t(count),
                std::uint64_t(vocabulary), std::uint64_t(columns), std::uint64_t(parts));
}

}  // namespace assay
