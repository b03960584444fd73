#include "model/data/regression_batches.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "model/tensors/weights.h"

namespace assay {

RegressionBatches synthetic_regression(std::int64_t batches, std::int64_t rows, std::int64_t inputs,
                                       std::int64_t outputs, std::uint64_t seed) {
  RegressionBatches made{batches, rows, inputs, outputs, {}, {}};
  Random random(seed);
  const auto all_rows = static_cast<std::size_t>(batches * rows);
  const auto width = static_cast<std::size_t>(inputs);
  made.x.resize(all_rows * width);
  for (float& x : made.x) {
    constexpr float steps = 32;  // of 1, so few that bf16 has every value below 8
    x = static_cast<float>(std::round(random.normal() * steps)) / steps;
  }
  struct Source {
    std::size_t column;
    float sign;
  };
  std::vector<Source> sources(static_cast<std::size_t>(outputs));
  const std::size_t known = std::min<std::size_t>(8, width);
  for (Source& source : sources) {
    const std::uint64_t bits = random.next();
    source = {static_cast<std::size_t>((bits >> 1) % known), (bits & 1) != 0 ? 1.0f : -1.0f};
  }
  made.targets.reserve(all_rows * sources.size());
  for (std::size_t row = 0; row < all_rows; ++row) {
    for (const Source& source : sources) {
      made.targets.push_back(source.sign * made.x[row * width + source.column]);
    }
  }
  return made;
}

RegressionBatches RegressionBatches::split_off(std::int64_t count) {
  RegressionBatches last{count, rows, inputs, outputs, {}, {}};
  batches -= count;
  const auto move_tail = [&](std::vector<float>& from, std::vector<float>& to, std::int64_t width) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(batches * rows * width);
    to.assign(begin, from.end());
    from.erase(begin, from.end());
  };
  move_tail(x, last.x, inputs);
  move_tail(targets, last.targets, outputs);
  return last;
}

Result<DeviceRegressionBatches> DeviceRegressionBatches::upload(Device& device, Stream& stream,
                                                                DataType type,
                                                                const RegressionBatches& host) {
  DeviceRegressionBatches made;
  made.batches = host.batches;
  made.x = TRY(device.allocate(host.x.size() * size_of(type), MemoryKind::device));
  made.targets = TRY(device.allocate(host.targets.size() * size_of(type), MemoryKind::device));
  TRY(write_weights(stream, made.x.data(), type, host.x));
  TRY(write_weights(stream, made.targets.data(), type, host.targets));
  return made;
}

}  // namespace assay
