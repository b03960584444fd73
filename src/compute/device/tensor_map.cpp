#include "compute/device/tensor_map.h"

#include <fmt/format.h>

namespace assay {
namespace {

constexpr std::size_t most_dimensions = 5;
constexpr std::uint64_t most_elements = std::uint64_t{1} << 32;  // in one dimension
constexpr std::uint64_t stride_limit = std::uint64_t{1} << 40;   // bytes
constexpr std::uint32_t most_box = 256;                          // elements in one dimension
// bytes; the unit of everything that the TMA moves
constexpr std::uint64_t granule = 16;

Error refused(std::string reason) {
  return {ErrorKind::failed, "tensor map: " + std::move(reason)};
}

}  // namespace

unsigned span_bytes(TensorSwizzle swizzle) {
  switch (swizzle) {
    case TensorSwizzle::bytes_32:
      return 32;
    case TensorSwizzle::bytes_64:
      return 64;
    case TensorSwizzle::bytes_128:
      return 128;
    default:
      return 0;
  }
}

// The limits are those of cuTensorMapEncodeTiled (cuda.h 12.x) without interleaving.
Status check_tensor_layout(const TensorLayout& layout) {
  const std::size_t rank = layout.dimensions.size();
  if (rank < 1 || rank > most_dimensions) {
    return refused(fmt::format("{} dimensions; 1 to {} are possible", rank, most_dimensions));
  }
  const auto address = reinterpret_cast<std::uintptr_t>(layout.address);
  if (address == 0 || address % granule != 0) {
    return refused(fmt::format("address {:#x} is not a multiple of {}", address, granule));
  }
  const std::size_t element = size_of(layout.type);
  for (std::size_t i = 0; i < rank; ++i) {
    const TensorDimension& dimension = layout.dimensions[i];
    if (dimension.size < 1 || dimension.size > most_elements) {
      return refused(fmt::format("dimension {} has {} elements; 1 to {} are possible", i,
                                 dimension.size, most_elements));
    }
    if (dimension.box < 1 || dimension.box > most_box) {
      return refused(fmt::format("the box has {} elements in dimension {}; 1 to {} are possible",
                                 dimension.box, i, most_box));
    }
    if (i == 0) {
      if (dimension.stride_bytes == 0 || dimension.stride_bytes == element) continue;
      return refused(
          fmt::format("dimension 0 has a stride of {} bytes; it must be dense: list the "
                      "dimension whose elements are adjacent first",
                      dimension.stride_bytes));
    }
    const std::uint64_t stride = dimension.stride_bytes;
    if (stride == 0 || stride % granule != 0 || stride >= stride_limit) {
      return refused(
          fmt::format("dimension {} has a stride of {} bytes; multiples of {} below 2^40 "
                      "are possible: pad the rows",
                      i, stride, granule));
    }
  }
  const std::uint64_t row = layout.dimensions[0].box * element;  // one row of the box
  if (row % granule != 0) {
    return refused(
        fmt::format("a row of the box has {} bytes; multiples of {} are possible", row, granule));
  }
  const unsigned span = span_bytes(layout.swizzle);
  if (span != 0 && row > span) {
    return refused(
        fmt::format("a row of the box has {} bytes; {} are possible with a swizzle of {} "
                    "bytes: split the box",
                    row, span, span));
  }
  const unsigned l2 = layout.l2_bytes;
  if (l2 != 0 && l2 != 64 && l2 != 128 && l2 != 256) {
    return refused(fmt::format("{} bytes fetched into L2; 0, 64, 128 and 256 are possible", l2));
  }
  return {};
}

}  // namespace assay
