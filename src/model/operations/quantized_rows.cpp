#include "model/operations/quantized_rows.h"

namespace assay {

Result<QuantizedRows> QuantizedRows::create(Device& device, DataType type, DataType codes) {
  QuantizedRows made(device.facts(), TRY(Kernels::build(device, "quantize_rows", type)));
  const std::string name(name_of(codes));
  made.quantize_ = TRY(made.kernels_.of_type("quantize_" + name));
  made.dequantize_ = TRY(made.kernels_.of_type("dequantize_" + name));
  made.scale_product_ = TRY(made.kernels_.plain("scale_product_bf16"));
  return made;
}

Status QuantizedRows::quantize(Stream& stream, void* codes, void* factors, const void* x,
                               std::int64_t rows, std::int64_t width) {
  return launch(stream, *quantize_, shape_of_rows(*facts_, rows, width), {.programmatic = true},
                codes, factors, x, std::uint64_t(rows), std::uint64_t(width));
}

Status QuantizedRows::dequantize(Stream& stream, void* y, const void* codes, const void* factors,
                                 std::int64_t rows, std::int64_t width) {
  return launch(stream, *dequantize_, shape_of_elements(*facts_, rows * width), y, codes, factors,
                std::uint64_t(rows), std::uint64_t(width));
}

Status QuantizedRows::scale_product(Stream& stream, void* y, const float* row_factors,
                                    const float* column_factors, const void* bias,
                                    std::int64_t rows, std::int64_t width) {
  return launch(stream, *scale_product_, shape_of_elements(*facts_, rows * width), y, row_factors,
                column_factors, bias, std::uint64_t(rows), std::uint64_t(width));
}

}  // namespace assay
