#include "model/parameter_plan.h"

namespace assay {

std::int64_t largest_batch(const std::function<TrainingMemory(std::int64_t batch)>& memory_of_batch,
                           std::uint64_t bytes) {
  constexpr std::int64_t most = 1 << 20;
  const auto fits = [&](std::int64_t batch) { return memory_of_batch(batch).total() <= bytes; };
  std::int64_t enough = 0, beyond = 1;
  while (beyond < most && fits(beyond)) {
    enough = beyond;
    beyond *= 2;
  }
  while (beyond - enough > 1) {
    const std::int64_t middle = (enough + beyond) / 2;
    (fits(middle) ? enough : beyond) = middle;
  }
  return enough;
}

}  // namespace assay
