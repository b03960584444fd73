#include "model/operations/token_rows.h"

#include <algorithm>

#include "compute/device/helpers.h"

namespace assay {
namespace {

/// The most parts of all rows together, where blocks share rows.
std::int64_t most_parts(const DeviceFacts& facts) {
  return facts.runs_on_host ? 1 : facts.multiprocessors;
}

/// How many blocks share a row.
std::int64_t parts_of_row(const DeviceFacts& facts, std::int64_t rows, std::int64_t vocabulary) {
  constexpr std::int64_t least_of_part = 4 * block_threads;  // fewer are not worth merging
  return std::clamp<std::int64_t>(
      vocabulary / least_of_part, 1,
      std::max<std::int64_t>(1, most_parts(facts) / std::max<std::int64_t>(1, rows)));
}

}  // namespace

Result<TokenRows> TokenRows::create(Device& device, DataType type) {
  TokenRows made(device.facts(), TRY(Kernels::build(device, "token_rows", type)));
  made.gather_rows_ = TRY(made.kernels_.of_type("gather_rows"));
  made.most_likely_ = TRY(made.kernels_.of_type("most_likely"));
  made.advance_tokens_ = TRY(made.kernels_.plain("advance_tokens"));
  const auto parts = static_cast<std::size_t>(most_parts(device.facts()));
  made.found_ = TRY(device.allocate(parts * sizeof(std::uint64_t), MemoryKind::device));
  made.arrived_ = TRY(device.allocate(parts * sizeof(std::uint32_t), MemoryKind::device));
  const std::unique_ptr<Stream> stream = TRY(device.create_stream());
  TRY(stream->fill(made.arrived_.data(), 0, made.arrived_.bytes()));
  TRY(stream->synchronize());
  return made;
}

Status TokenRows::gather(Stream& stream, void* y, const void* x, const void* indices,
                         std::int64_t count, std::int64_t width) {
  return launch(stream, *gather_rows_, shape_of_elements(*facts_, count * width), y, x, indices,
                std::uint64_t(count), std::uint64_t(width));
}

Status TokenRows::most_likely(Stream& stream, void* next, const void* logits, std::int64_t rows,
                              std::int64_t vocabulary, std::int64_t columns) {
  const std::int64_t parts = parts_of_row(*facts_, rows, vocabulary);
  LaunchShape shape = shape_of_rows(*facts_, rows, vocabulary / parts, 1024);
  shape.grid.y = static_cast<unsigned>(parts);
  return launch(stream, *most_likely_, shape, {.programmatic = true}, next,
                found_.as<std::uint64_t>(), arrived_.as<std::uint32_t>(), logits,
                std::uint64_t(rows), std::uint64_t(vocabulary), std::uint64_t(columns),
                std::uint64_t(parts));
}

Status TokenRows::advance(Stream& stream, void* tokens, void* positions, const void* next,
                          std::int64_t count) {
  return launch(stream, *advance_tokens_, shape_of_elements(*facts_, count * row_pack), tokens,
                positions, next, std::uint64_t(count));
}

}  // namespace assay
