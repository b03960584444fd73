#include "advise/health/memory_patterns.h"

#include <algorithm>
#include <chrono>

#include "compute/device/helpers.h"

namespace assay::health {

Result<MemoryPatterns> MemoryPatterns::create(Device& device) {
  auto stream = TRY(device.create_stream());
  auto program = TRY(device.build({"checksum", {}}));
  Kernel* const write = TRY(program->kernel("write_pattern"));
  Kernel* const march = TRY(program->kernel("march_pattern"));
  auto checksums = TRY(Checksums::create(device));
  return MemoryPatterns(device, std::move(stream), std::move(program), *write, *march,
                        std::move(checksums));
}

std::uint64_t MemoryPatterns::word(std::uint64_t index, unsigned pattern, std::uint64_t seed) {
  std::uint64_t word = 0;
  switch (pattern / 2) {
    case 0:
      break;
    case 1:
      word = index % 2 == 0 ? 0x5555555555555555u : 0xAAAAAAAAAAAAAAAAu;
      break;
    case 2:
      word = index * 8;
      break;
    default:
      word = Checksums::of_word(seed, index);  // the same formula
  }
  return pattern % 2 == 0 ? word : ~word;
}

Result<std::optional<WrongWord>> MemoryPatterns::march(const Buffer& memory, const Buffer& found,
                                                       std::uint64_t seed,
                                                       const std::optional<Planted>& planted) {
  const LaunchShape shape = filling_shape(device_->facts());
  const std::uint64_t n = memory.bytes() / 8;
  const auto plant = [&](unsigned pattern) -> Status {
    if (!planted || planted->pattern != pattern) return {};
    return checksums_.flip(*stream_, memory.as<std::uint64_t>() + planted->offset / 8 % n,
                           planted->mask);
  };
  TRY(launch(*stream_, *write_, shape, memory.as<std::uint64_t>(), n, 0U, seed));
  TRY(plant(0));
  // Up through the patterns, so that every bit changes in both directions, and down again.
  std::vector<unsigned> order;
  for (unsigned i = 1; i < memory_pattern_count; ++i) order.push_back(i);
  for (unsigned i = memory_pattern_count - 1; i > 0; --i) order.push_back(i - 1);
  unsigned holds = 0;
  for (const unsigned next : order) {
    TRY(launch(*stream_, *march_, shape, found.as<std::uint64_t>(), memory.as<std::uint64_t>(), n,
               holds, next, seed, checksums_.blocks_run()));
    const auto parts = TRY(
        read_back<std::uint64_t>(*stream_, found.data(), found.bytes() / sizeof(std::uint64_t)));
    WrongWord wrong{.pattern = holds, .offset = n};
    for (std::size_t block = 0; 3 * block < parts.size(); ++block) {
      wrong.count += parts[3 * block];
      if (parts[3 * block] == 0 || parts[3 * block + 1] >= wrong.offset) continue;
      wrong.offset = parts[3 * block + 1];
      wrong.found = parts[3 * block + 2];
    }
    if (wrong.count > 0) {
      wrong.expected = word(wrong.offset, holds, seed);
      wrong.offset *= 8;
      wrong.address = reinterpret_cast<std::uintptr_t>(memory.data()) + wrong.offset;
      return std::optional<WrongWord>(wrong);
    }
    TRY(plant(next));
    holds = next;
  }
  return std::optional<WrongWord>();
}

Result<MemoryPatterns::Outcome> MemoryPatterns::run(double share, std::uint64_t most,
                                                    std::uint64_t seed, int replays,
                                                    const std::optional<Planted>& planted) {
  const std::uint64_t free = TRY(device_->memory_free_and_total()).first;
  constexpr std::uint64_t granularity = 1 << 16;
  std::uint64_t bytes =
      std::min(most, static_cast<std::uint64_t>(static_cast<double>(free) * share)) / granularity *
      granularity;
  Buffer memory;
  while (memory.bytes() == 0 && bytes >= granularity) {
    auto taken = device_->allocate(bytes, MemoryKind::device);
    if (taken.ok())
      memory = std::move(*taken);
    else
      bytes = bytes / 4 * 3 / granularity * granularity;  // free memory may lie in pieces
  }
  if (memory.bytes() == 0) {
    return Error{ErrorKind::exhausted, "no free memory is left for the patterns"};
  }
  const Buffer found = TRY(device_->allocate(
      3 * sizeof(std::uint64_t) * filling_shape(device_->facts()).grid.x, MemoryKind::device));
  const auto begin = std::chrono::steady_clock::now();
  Outcome outcome;
  outcome.bytes = memory.bytes();
  outcome.wrong = TRY(march(memory, found, seed, planted));
  outcome.read = static_cast<double>(memory.bytes()) * (kernels_of_patterns - 1);
  outcome.moved = outcome.read + static_cast<double>(memory.bytes()) * kernels_of_patterns;
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (int i = 0; outcome.wrong && i < replays; ++i) {
    const auto again =
        TRY(march(memory, found, seed, planted && planted->stays ? planted : std::nullopt));
    ++outcome.replays;
    if (again) ++outcome.replayed;
  }
  return outcome;
}

}  // namespace assay::health
