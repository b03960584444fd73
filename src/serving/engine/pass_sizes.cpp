#include "serving/engine/pass_sizes.h"

#include <bit>

namespace assay::engine {

std::int64_t pass_size(std::int64_t count) {
  constexpr std::int64_t most_doubled = 16, between = 4;
  const auto unsigned_count = static_cast<std::uint64_t>(count);
  if (count <= most_doubled) return static_cast<std::int64_t>(std::bit_ceil(unsigned_count));
  const auto step = static_cast<std::int64_t>(std::bit_floor(unsigned_count - 1)) / between;
  return (count + step - 1) / step * step;
}

std::vector<std::int64_t> pass_sizes(std::int64_t most) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size <= pass_size(most); size = pass_size(size + 1)) {
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace assay::engine
