#include "model/operations/fp8_linear.h"

#include <algorithm>

#include "compute/device/helpers.h"
#include "compute/device/matrix_unit_types.h"

namespace assay {
namespace {

/// Bytes that the arena of codes aligns every tensor to.
constexpr std::int64_t code_alignment = 128;

const float* factor_of(const Fp8Matrix& matrix) {
  return static_cast<const float*>(matrix.scale);
}

Status check_product(const DeviceFacts& facts, GemmPlans& plans, const GemmProblem& product) {
  if (!suits_large_work(facts)) return {};
  const auto library = plans.library_of(product);
  if (library.ok()) return {};
  return Error{library.error().kind, "no library multiplies FP8 here: " + library.error().message};
}

/// Blocks for the tiles of kernels/quantize_tensor.cu.
LaunchShape shape_of_tiles(const DeviceFacts& facts, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t tile_rows = 64, tile_columns = 128;
  const std::int64_t tiles =
      ((rows + tile_rows - 1) / tile_rows) * ((columns + tile_columns - 1) / tile_columns);
  if (!facts.runs_on_host) return {{static_cast<unsigned>(tiles)}, {block_threads}};
  return {{static_cast<unsigned>(std::min<std::int64_t>(tiles, facts.multiprocessors))}, {1}};
}

}  // namespace

DataType fp8_type(const DeviceFacts& facts, Fp8Role role) {
  const bool fnuz = has_fnuz_fp8(facts);
  if (role == Fp8Role::value) return fnuz ? DataType::e4m3_fnuz : DataType::e4m3;
  return fnuz ? DataType::e5m2_fnuz : DataType::e5m2;
}

std::optional<std::string> fp8_unsupported(const DeviceFacts& facts) {
  const DataType type = fp8_type(facts, Fp8Role::value);
  if (facts.is_nvidia()) return cuda_lacks_type(type, facts);
  if (facts.is_amd()) return rocm_lacks_type(type, facts);
  return std::nullopt;
}

GemmProblem fp8_product(const DeviceFacts& facts, DataType type, std::int64_t m, std::int64_t n,
                        std::int64_t k) {
  GemmProblem product = make_gemm(m, n, k, type, DataType::bf16, false, true);
  product.alignment = code_alignment;
  product.fast_accumulate = facts.is_nvidia();
  return product;
}

Status check_fp8_products(const DeviceFacts& facts, GemmPlans& plans, DataType type) {
  return check_product(facts, plans, fp8_product(facts, type, 256, 256, 256));
}

Result<Fp8Linear> Fp8Linear::create(Device& device, GemmPlans& plans) {
  Fp8Linear made(device, plans, TRY(Kernels::build(device, "quantize_tensor", DataType::bf16)));
  const auto quantizes_to = [&](Fp8Role role) {
    return made.kernels_.of_type("quantize_tensor_" +
                                 std::string(name_of(fp8_type(device.facts(), role))));
  };
  made.find_largest_ = TRY(made.kernels_.of_type("find_largest"));
  made.quantize_value_ = TRY(quantizes_to(Fp8Role::value));
  made.quantize_gradient_ = TRY(quantizes_to(Fp8Role::gradient));
  for (const Fp8Role role : {Fp8Role::value, Fp8Role::gradient}) {
    TRY(check_product(device.facts(), plans, made.product(256, 256, 256, role)));
  }
  return made;
}

Status Fp8Linear::find_largest(Stream& stream, void* scale, const void* x, std::int64_t elements) {
  return launch(stream, *find_largest_, shape_of_elements(*facts_, elements), scale, x,
                std::uint64_t(elements));
}

Status Fp8Linear::quantize(Stream& stream, Fp8Role role, const Fp8Matrix& to, const void* x,
                           std::int64_t rows, std::int64_t columns) {
  const Kernel& kernel = role == Fp8Role::value ? *quantize_value_ : *quantize_gradient_;
  return launch(stream, kernel, shape_of_tiles(*facts_, rows, columns), to.codes,
                to.columns_of_codes, to.scale, x, std::uint64_t(rows), std::uint64_t(columns));
}

GemmProblem Fp8Linear::product(std::int64_t m, std::int64_t n, std::int64_t k, Fp8Role role_of_a,
                               bool add) const {
  GemmProblem product = fp8_product(*facts_, fp8_type(*facts_, Fp8Role::value), m, n, k);
  product.a = fp8_type(*facts_, role_of_a);
  product.scales_a = product.scales_b = true;
  product.beta = add ? 1 : 0;
  // Gradients keep all digits of their sums, as in torchao.
  product.fast_accumulate = facts_->is_nvidia() && role_of_a == Fp8Role::value;
  return product;
}

Status Fp8Linear::forward(Stream& stream, void* y, const Fp8Matrix& x, const Fp8Matrix& weight,
                          LinearShape shape, bool add) {
  return plans_->enqueue(stream,
                         product(shape.rows, shape.outputs, shape.inputs, Fp8Role::value, add),
                         {.a = x.codes,
                          .b = weight.codes,
                          .c = y,
                          .d = y,
                          .scale_a = factor_of(x),
                          .scale_b = factor_of(weight)});
}

Status Fp8Linear::input_gradient(Stream& stream, void* dx, const Fp8Matrix& dy,
                                 const Fp8Matrix& weight, LinearShape shape, bool add) {
  return plans_->enqueue(stream,
                         product(shape.rows, shape.inputs, shape.outputs, Fp8Role::gradient, add),
                         {.a = dy.codes,
                          .b = weight.columns_of_codes,
                          .c = dx,
                          .d = dx,
                          .scale_a = factor_of(dy),
                          .scale_b = factor_of(weight)});
}

Status Fp8Linear::weight_gradient(Stream& stream, void* dw, const Fp8Matrix& dy, const Fp8Matrix& x,
                                  LinearShape shape, bool add) {
  return plans_->enqueue(stream,
                         product(shape.outputs, shape.inputs, shape.rows, Fp8Role::gradient, add),
                         {.a = dy.columns_of_codes,
                          .b = x.columns_of_codes,
                          .c = dw,
                          .d = dw,
                          .scale_a = factor_of(dy),
                          .scale_b = factor_of(x)});
}

}  // namespace assay
