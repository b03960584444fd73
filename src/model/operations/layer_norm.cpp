#include "model/operations/layer_norm.h"

#include <fmt/format.h>

#include <algorithm>

#include "compute/device/helpers.h"

namespace assay {
namespace {

// As in kernels/norm.cu.
constexpr std::int64_t most_threads = 512, packs_of_thread = 2;

}  // namespace

std::uint64_t norm_stripes(std::int64_t rows, std::int64_t width) {
  constexpr std::int64_t most_sums = 3 << 18, least_rows = 4;
  const std::int64_t most = std::max<std::int64_t>(1, most_sums / width);
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(rows / least_rows, 1, most));
}

Result<LayerNorm> LayerNorm::create(Device& device, DataType type, ColumnSums& sums) {
  LayerNorm made(device.facts(), sums, TRY(Kernels::build(device, "norm", type)));
  made.add_norm_ = TRY(made.kernels_.of_type("add_norm"));
  made.norm_backward_ = TRY(made.kernels_.of_type("norm_backward"));
  return made;
}

Status LayerNorm::validate(std::int64_t width) {
  constexpr std::int64_t widest = most_threads * packs_of_thread * row_pack;
  if (width <= widest) return {};
  return Error{ErrorKind::unsupported,
               fmt::format("layer norm computes rows of up to {} elements, not {}", widest, width)};
}

LaunchShape LayerNorm::shape(std::uint64_t blocks, std::int64_t width) const {
  if (runs_on_host(*facts_)) return {{static_cast<unsigned>(blocks)}, {1}};
  const std::int64_t per_thread = packs_of_thread * row_pack, wave = facts_->wave_size;
  const std::int64_t threads = (width + per_thread - 1) / per_thread;
  return {{static_cast<unsigned>(blocks)},
          {static_cast<unsigned>((threads + wave - 1) / wave * wave)}};
}

Status LayerNorm::forward(Stream& on, void* normed, void* statistics, void* sum, const void* stream,
                          const void* branch, const void* weight, const void* bias, Rows rows) {
  const auto count = std::uint64_t(rows.rows);
  const auto blocks = runs_on_host(*facts_) ? std::uint64_t(facts_->multiprocessors) : count;
  return launch(on, *add_norm_, shape(std::min(blocks, count), rows.width), normed, statistics, sum,
                stream, branch, weight, bias, count, std::uint64_t(rows.width));
}

Status LayerNorm::backward(Stream& on, const Gradients& gradients, const void* dy, const void* x,
                           const void* statistics, const void* weight, void* scratch, Rows rows) {
  const std::uint64_t stripes = norm_stripes(rows.rows, rows.width);
  TRY(launch(on, *norm_backward_, shape(stripes, rows.width), gradients.input, scratch, dy, x,
             statistics, weight, std::uint64_t(rows.rows), std::uint64_t(rows.width),
             gradients.add_input ? 1 : 0));
  return sums_->of_stripes(on, {gradients.weight, gradients.bias, gradients.bias_before}, scratch,
                           3, rows.width, stripes, gradients.add_parameters);
}

}  // namespace assay
