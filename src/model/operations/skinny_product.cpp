#include "model/operations/skinny_product.h"

#include <fmt/format.h>

#include <bit>

#include "compute/device/helpers.h"

namespace assay {
namespace {

constexpr unsigned skinny_threads = 256;  // as in kernels/skinny_product.cu

/// As the kernel declares it.
struct SkinnyExtent {
  std::uint64_t rows, outputs, inputs;
};

}  // namespace

Result<SkinnyProduct> SkinnyProduct::create(Device& device, DataType type, double norm_epsilon) {
  SkinnyProduct made(device.facts(), TRY(Kernels::build(device, "skinny_product", type)),
                     norm_epsilon);
  for (int i = 0; i < 4; ++i) {
    made.of_rows_[i] = TRY(made.kernels_.of_type(fmt::format("skinny_product_{}", 1 << i)));
  }
  return made;
}

Status SkinnyProduct::forward(Stream& stream, void* y, const void* x, const void* weight,
                              const Around& around, LinearShape shape) {
  return launch_product(stream, y, x, weight, around, shape, false);
}

Status SkinnyProduct::forward_swiglu(Stream& stream, void* y, const void* x, const void* weight,
                                     const void* norm, LinearShape shape) {
  return launch_product(stream, y, x, weight, {.norm = norm}, shape, true);
}

Status SkinnyProduct::launch_product(Stream& stream, void* y, const void* x, const void* weight,
                                     const Around& around, LinearShape shape, bool swiglu) {
  const auto rows = static_cast<std::uint64_t>(shape.rows);
  if (rows < 1 || rows > most_rows) {
    return Error{ErrorKind::unsupported,
                 fmt::format("a skinny product has {} rows, allowed are 1 to {}", rows, most_rows)};
  }
  // A wave computes two outputs.
  const std::int64_t results = swiglu ? shape.outputs : (shape.outputs + 1) / 2;
  const std::int64_t waves = skinny_threads / facts_->wave_size;
  const std::int64_t blocks =
      runs_on_host(*facts_) ? facts_->multiprocessors : (results + waves - 1) / waves;
  return launch(stream, *of_rows_[std::bit_width(rows - 1)],
                {{static_cast<unsigned>(blocks)}, {skinny_threads}}, {.programmatic = true}, y, x,
                weight, around.norm, around.bias,
                SkinnyExtent{rows, std::uint64_t(shape.outputs), std::uint64_t(shape.inputs)},
                norm_epsilon_, around.add ? 1 : 0, swiglu ? 1 : 0);
}

}  // namespace assay
