#include "model/tensors/parameter_plan.h"

#include <algorithm>

namespace assay {

TrainingMemory memory_of_parameters(const ParameterPlan& plan, const std::vector<Section>& sections,
                                    std::size_t kept) {
  const std::uint64_t elements = sections.empty() ? 0 : sections.back().end;
  const std::uint64_t element = size_of(plan.type);
  const auto slices = static_cast<std::uint64_t>(plan.parallel.ranks);
  std::uint64_t largest = 0, largest_of_others = 0;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    largest = std::max<std::uint64_t>(largest, sections[i].elements());
    if (i >= kept)
      largest_of_others = std::max<std::uint64_t>(largest_of_others, sections[i].elements());
  }
  TrainingMemory memory;
  memory.parameters = elements * element;
  memory.optimizer = elements * plan.optimizer_bytes();
  if (plan.parallel.slices_optimizer()) memory.optimizer /= slices;
  if (plan.parallel.slices_parameters()) {
    const std::uint64_t whole = kept > 0 ? sections[kept - 1].end : 0;
    memory.parameters = (elements / slices + whole + 2 * largest_of_others) * element;
  }
  memory.gradients = memory.parameters;
  if (plan.parallel.f32_sums) memory.exchange += largest * sizeof(float);
  if (plan.parallel.slices_optimizer()) memory.exchange += meeting_bytes + largest * sizeof(float);
  if (plan.parallel.slices_parameters()) memory.exchange += largest / slices * element;
  return memory;
}

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
