#include "model/operations/norm_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "compute/device/helpers.h"

namespace assay {
namespace {

// These are those of kernels/norm.cu.
constexpr std::int64_t most_norm_threads = 512, packs_of_thread = 2;

}  // namespace

Status validate_norm(std::int64_t width) {
  constexpr std::int64_t widest = most_norm_threads * packs_of_thread * row_pack;
  if (width <= widest) return {};
  return Error{ErrorKind::unsupported,
               fmt::format("norms compute rows of up to {} elements, not {}", widest, width)};
}

LaunchShape norm_shape(const DeviceFacts& facts, std::uint64_t blocks, std::int64_t width) {
  if (facts.runs_on_host) return {{static_cast<unsigned>(blocks)}, {1}};
  const std::int64_t per_thread = packs_of_thread * row_pack, wave = facts.wave_size;
  const std::int64_t threads = (width + per_thread - 1) / per_thread;
  return {{static_cast<unsigned>(blocks)},
          {static_cast<unsigned>((threads + wave - 1) / wave * wave)}};
}

LaunchShape norm_shape(const DeviceFacts& facts, Rows rows) {
  const std::int64_t most = facts.runs_on_host ? facts.multiprocessors : rows.rows;
  return norm_shape(facts, std::uint64_t(std::min(most, rows.rows)), rows.width);
}

}  // namespace assay
