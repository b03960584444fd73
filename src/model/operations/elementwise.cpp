#include "model/operations/elementwise.h"

namespace assay {

Result<Elementwise> Elementwise::create(Device& device, DataType type) {
  Elementwise made(device.facts(), TRY(Kernels::build(device, "elementwise", type)), type);
  made.add_ = TRY(made.kernels_.of_type("add"));
  made.checksum_ = TRY(made.kernels_.plain("checksum"));
  if (type == DataType::f32 || type == DataType::tf32) {
    made.from_bf16_ = TRY(made.kernels_.plain("widen_bf16"));
    made.from_f16_ = TRY(made.kernels_.plain("widen_f16"));
    return made;
  }
  made.widen_ = TRY(made.kernels_.of_type("widen"));
  made.narrow_ = TRY(made.kernels_.of_type("narrow"));
  if (type == DataType::bf16) made.from_f16_ = TRY(made.kernels_.plain("bf16_of_f16"));
  return made;
}

Status Elementwise::run(Stream& stream, const Kernel& kernel, void* y, const void* x,
                        std::size_t elements) {
  return launch(stream, kernel, shape_of_elements(*facts_, std::int64_t(elements)), y, x,
                std::uint64_t(elements));
}

Status Elementwise::widen(Stream& stream, float* y, const void* x, std::size_t elements) {
  return run(stream, *widen_, y, x, elements);
}

Status Elementwise::narrow(Stream& stream, void* y, const float* x, std::size_t elements) {
  return run(stream, *narrow_, y, x, elements);
}

Status Elementwise::convert(Stream& stream, void* y, const void* x, DataType from,
                            std::size_t elements) {
  if (from == type_) return stream.copy(y, x, elements * size_of(type_));
  const Kernel* const kernel = from == DataType::f32    ? narrow_
                               : from == DataType::bf16 ? from_bf16_
                                                        : from_f16_;
  return run(stream, *kernel, y, x, elements);
}

Status Elementwise::add(Stream& stream, void* y, const void* x, std::size_t elements) {
  return run(stream, *add_, y, x, elements);
}

Status Elementwise::checksum(Stream& stream, std::uint64_t* sum, const void* x, std::uint64_t bytes,
                             std::uint64_t first) {
  const std::uint64_t words = bytes / 4;
  return launch(stream, *checksum_, shape_of_elements(*facts_, std::int64_t(words)), sum, x, words,
                first);
}

}  // namespace assay
