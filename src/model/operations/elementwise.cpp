#include "model/operations/elementwise.h"

namespace assay {

Result<Elementwise> Elementwise::create(Device& device, DataType type) {
  Elementwise made(device.facts(), TRY(Kernels::build(device, "elementwise", type)));
  made.add_ = TRY(made.kernels_.of_type("add"));
  made.checksum_ = TRY(made.kernels_.plain("checksum"));
  if (size_of(type) == sizeof(float)) return made;
  made.widen_ = TRY(made.kernels_.of_type("widen"));
  made.narrow_ = TRY(made.kernels_.of_type("narrow"));
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
