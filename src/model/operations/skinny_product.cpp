#include "model/operations/skinny_product.h"

#include <fmt/format.h>

#include <algorithm>

#include "compute/device/helpers.h"

namespace assay {

std::string SkinnyVariant::name() const {
  return fmt::format("{} ahead, {} block{}", ahead, blocks, blocks == 1 ? "" : "s");
}

std::span<const SkinnyVariant> SkinnyProduct::variants() {
  // Registers of sm_90: 32 for each time ahead, and 40 (bf16, 16 rows) to 130 (i8, 64 rows) beside.
  static constexpr SkinnyVariant all[] = {{2, 1}, {2, 2}, {1, 2}, {3, 1}};
  return all;
}

Result<SkinnyProduct> SkinnyProduct::create(Device& device, std::int64_t rows,
                                            std::optional<DataType> codes, SkinnyVariant variant) {
  // Kernels of the host are compiled in, for the fewest rows.
  const std::int64_t room = device.facts().runs_on_host ? room_for(1) : room_for(rows);
  const std::string element(codes ? name_of(*codes) : "bf16");
  SkinnyProduct made(device.facts(),
                     TRY(Kernels::build(device, "skinny_product", DataType::bf16,
                                        {{"SKINNY_ROWS", std::to_string(room)},
                                         {"SKINNY_AHEAD", std::to_string(variant.ahead)},
                                         {"SKINNY_BLOCKS", std::to_string(variant.blocks)},
                                         {"SKINNY_ONE", "1"},
                                         {"SKINNY_OF_" + element, "1"}})),
                     variant, room);
  made.kernel_ = TRY(made.kernels_.of_type("skinny_product" + (codes ? "_" + element : "")));
  return made;
}

Status SkinnyProduct::enqueue(Stream& stream, void* y, const void* x, StoredMatrix weight,
                              const void* bias, LinearShape shape, bool swiglu) {
  if (shape.rows < 1 || shape.rows > room_ || shape.inputs % together != 0) {
    return Error{ErrorKind::failed,
                 fmt::format("{} rows of {} inputs for a product of 1 to {} rows, whose inputs are "
                             "multiples of {}",
                             shape.rows, shape.inputs, room_, together)};
  }
  // These are those of kernels/skinny_product.cu.
  const std::int64_t tile = swiglu ? 16 : 32;
  const std::int64_t resident = facts_->runs_on_host ? 1 : variant_.blocks;
  const std::int64_t blocks =
      std::min((shape.outputs + tile - 1) / tile, facts_->multiprocessors * resident);
  return launch(stream, *kernel_, {{static_cast<unsigned>(blocks)}, {block_threads}},
                {.programmatic = true}, y, x, weight.elements, weight.factors, bias,
                std::uint64_t(shape.rows), std::uint64_t(shape.outputs),
                std::uint64_t(shape.inputs), swiglu ? 1 : 0);
}

}  // namespace assay
