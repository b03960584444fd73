#include "model/operations/skinny_product.h"

#include <fmt/format.h>

#include <algorithm>

#include "compute/device/helpers.h"

namespace assay {
namespace {

// As in kernels/skinny_product.cu, which also has block_threads.
constexpr std::int64_t tile_rows = 16, tile_outputs = 32;

}  // namespace

std::string SkinnyVariant::name() const {
  return fmt::format("{} ahead, {} block{}", ahead, blocks, blocks == 1 ? "" : "s");
}

/// Those whose registers suffice on sm_90: one block more has half as many.
SkinnyVariant SkinnyProduct::variant_for(std::int64_t rows) const {
  if (variant_) return *variant_;
  if (rows > tile_rows) return {.ahead = 2, .blocks = 1};
  return codes_ == DataType::e4m3 ? SkinnyVariant{.ahead = 2, .blocks = 2}
                                  : SkinnyVariant{.ahead = 1, .blocks = 2};
}

Result<SkinnyProduct::Built*> SkinnyProduct::built_for(std::int64_t rows) {
  // Kernels of the host are compiled in, for the fewest rows.
  std::int64_t of_block = tile_rows;
  while (of_block < rows && !runs_on_host(device_->facts())) of_block *= 2;
  const auto known = built_.find(of_block);
  if (known != built_.end()) return &known->second;
  const SkinnyVariant variant = variant_for(of_block);
  Kernels kernels = TRY(Kernels::build(*device_, "skinny_product", DataType::bf16,
                                       {{"SKINNY_ROWS", std::to_string(of_block)},
                                        {"SKINNY_AHEAD", std::to_string(variant.ahead)},
                                        {"SKINNY_BLOCKS", std::to_string(variant.blocks)}}));
  Kernel* const kernel = TRY(kernels.of_type("skinny_product_" + std::string(name_of(codes_))));
  return &built_.emplace(of_block, Built{variant, std::move(kernels), kernel}).first->second;
}

Status SkinnyProduct::forward(Stream& stream, void* y, const void* x, const void* codes,
                              const float* factors, const void* bias, LinearShape shape) {
  const DeviceFacts& facts = device_->facts();
  const std::int64_t most = runs_on_host(facts) ? tile_rows : most_rows;
  const std::int64_t tiles = (shape.outputs + tile_outputs - 1) / tile_outputs;
  const auto element = static_cast<std::int64_t>(size_of(DataType::bf16));
  for (std::int64_t row = 0; row < shape.rows; row += most) {
    const std::int64_t rows = std::min(most, shape.rows - row);
    const Built& built = *TRY(built_for(rows));
    const std::int64_t blocks =
        std::min<std::int64_t>(tiles, facts.multiprocessors * built.variant.blocks);
    TRY(launch(stream, *built.kernel, {{static_cast<unsigned>(blocks)}, {block_threads}},
               {.programmatic = true}, static_cast<std::byte*>(y) + row * shape.outputs * element,
               static_cast<const std::byte*>(x) + row * shape.inputs * element, codes, factors,
               bias, std::uint64_t(rows), std::uint64_t(shape.outputs),
               std::uint64_t(shape.inputs)));
  }
  return {};
}

}  // namespace assay
