#include "model/operations/layer_norm.h"

#include <fmt/format.h>

#include <algorithm>

#include "compute/device/helpers.h"

namespace assay {
namespace {

// As in kernels/norm.cu.
constexpr std::int64_t most_threads = 512, packs_of_thread = 2;
constexpr unsigned stripe_columns = 32;

}  // namespace

Result<LayerNorm> LayerNorm::create(Device& device, DataType type) {
  LayerNorm made(device.facts(), TRY(Kernels::build(device, "norm", type)));
  made.add_norm_ = TRY(made.kernels_.of_type("add_norm"));
  made.norm_backward_ = TRY(made.kernels_.of_type("norm_backward"));
  made.column_stripes_ = TRY(made.kernels_.of_type("column_stripes"));
  made.add_stripes_ = TRY(made.kernels_.of_type("add_stripes"));
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
  return add_stripes(on, gradients.weight, gradients.bias, scratch, rows.width, stripes,
                     gradients.add_parameters);
}

Status LayerNorm::column_sums(Stream& on, void* result, const void* x, void* scratch, Rows rows,
                              bool add) {
  TRY(launch(on, *column_stripes_, shape_of_sums(rows.width, column_stripes), scratch, x,
             std::uint64_t(rows.rows), std::uint64_t(rows.width), column_stripes));
  return add_stripes(on, result, nullptr, scratch, rows.width, column_stripes, add);
}

Status LayerNorm::add_stripes(Stream& on, void* first, void* second, const void* partial,
                              std::int64_t width, std::uint64_t stripes, bool add) {
  const auto columns = std::uint64_t(second != nullptr ? 2 * width : width);
  const auto blocks = static_cast<unsigned>((columns + stripe_columns - 1) / stripe_columns);
  return launch(on, *add_stripes_, {{blocks}, {block_threads}}, first, second, partial,
                std::uint64_t(width), columns, stripes, add ? 1 : 0);
}

}  // namespace assay
