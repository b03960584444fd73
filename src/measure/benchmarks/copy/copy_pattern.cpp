#include "measure/benchmarks/copy/copy_pattern.h"

#include <numeric>

#include "compute/device/helpers.h"

namespace assay {

std::uint64_t pattern_word(std::uint64_t i, std::uint64_t seed) {
  return (i + seed) * 0x9E3779B97F4A7C15ull;
}

void fill_pattern(std::uint64_t* words, std::uint64_t n, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < n; ++i) words[i] = pattern_word(i, seed);
}

std::uint64_t count_wrong(const std::uint64_t* words, std::uint64_t n, std::uint64_t seed) {
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < n; ++i) wrong += words[i] != pattern_word(i, seed);
  return wrong;
}

Result<DevicePattern> DevicePattern::create(Device& device) {
  std::unique_ptr<Program> program = TRY(device.build({"copy_check_pattern", {}}));
  Kernel* fill = TRY(program->kernel("fill_pattern"));
  Kernel* check = TRY(program->kernel("check_pattern"));
  return DevicePattern(device, std::move(program), fill, check);
}

Status DevicePattern::fill(Stream& stream, std::uint64_t* words, std::uint64_t n,
                           std::uint64_t seed) const {
  return launch(stream, *fill_, filling_shape(device_->facts()), words, n, seed);
}

Result<std::uint64_t> DevicePattern::count_wrong(Stream& stream, const std::uint64_t* words,
                                                 std::uint64_t n, std::uint64_t seed) const {
  const LaunchShape shape = filling_shape(device_->facts());
  Buffer wrong = TRY(device_->allocate(sizeof(std::uint64_t) * shape.grid.x, MemoryKind::device));
  TRY(launch(stream, *check_, shape, wrong.data(), words, n, seed));
  const auto counts = TRY(read_back<std::uint64_t>(stream, wrong.data(), shape.grid.x));
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

}  // namespace assay
