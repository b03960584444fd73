#include "serving/engine/cache_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "compute/device/helpers.h"
#include "core/units.h"

namespace assay::engine {
namespace {

/// For graphs, the libraries' workspace and what drivers allocate for kernels.
constexpr double reserved_on_gpu = 1e9;
// The share of the host's free memory that the cache may take; other processes use some meanwhile.
constexpr double most_of_free = 0.8;

double cache_bytes_of_block(const ExecutorSettings& settings) {
  return static_cast<double>(page_tokens) *
         static_cast<double>(settings.decoder().cache_bytes_of_token());
}

struct Room {
  std::int64_t blocks = 0;
  double allowed = 0, needed = 0;  ///< bytes: of all, and without the cache
};

/// How many blocks the memory has room for.
Result<Room> room_for_blocks(Device& device, double utilization, const ExecutorSettings& settings) {
  const auto [free, total] = TRY(device.memory_free_and_total());
  const DecoderMemory memory = memory_of(settings.decoder());
  Room room;
  const bool on_host = device.facts().runs_on_host;
  const double share = static_cast<double>(total) * utilization;
  // On a GPU the share is of all that use it, as in vLLM. A host runs much else.
  room.allowed = on_host ? std::min(share, most_of_free * static_cast<double>(free))
                         : std::max(0.0, share - static_cast<double>(total - free));
  room.needed =
      static_cast<double>(memory.weights + memory.activations) + (on_host ? 0 : reserved_on_gpu);
  room.blocks = static_cast<std::int64_t>(std::max(0.0, room.allowed - room.needed) /
                                          cache_bytes_of_block(settings));
  return room;
}

/// The blocks that all ranks which share the model have room for.
Result<std::int64_t> least_of_ranks(std::int64_t blocks, const ExecutorSettings& settings) {
  if (settings.part.is_whole()) return blocks;
  const auto all = TRY(settings.ranks.team->exchange("planning the cache", std::to_string(blocks)));
  for (const std::string& text : all) {
    const auto theirs = TRY(parse_integer(text));
    blocks = std::min(blocks, static_cast<std::int64_t>(theirs));
  }
  return blocks;
}

}  // namespace

UsualLimits usual_limits(bool large) {
  return large ? UsualLimits{256, 2048, 8192} : UsualLimits{64, 256, 2048};
}

Status plan_cache(Device& device, const AskedLimits& asked, ExecutorSettings& settings) {
  const bool large = suits_large_work(device.facts());
  constexpr std::int64_t most_blocks = 1 << 24;  // more than any device has
  const UsualLimits usual = usual_limits(large && !settings.deterministic);
  if (asked.max_length) {
    TRY(check_positions(settings.shape, "--max-model-len ", *asked.max_length));
  }
  settings.max_sequences = asked.max_sequences.value_or(usual_limits(large).max_sequences);
  settings.max_batched_tokens = asked.max_batched_tokens.value_or(usual.max_batched_tokens);
  settings.max_length =
      asked.max_length.value_or(within_positions(settings.shape, usual_limits(large).max_length));
  settings.blocks = 0;
  if (settings.max_batched_tokens < settings.max_sequences) {
    if (asked.max_sequences) {
      return Error{ErrorKind::usage,
                   fmt::format("{} sequences at once need passes of as many tokens, and {} are "
                               "allowed: give a larger --max-num-batched-tokens",
                               settings.max_sequences, settings.max_batched_tokens)};
    }
    settings.max_sequences = settings.max_batched_tokens;
  }
  const std::int64_t for_one = (settings.max_length + page_tokens - 1) / page_tokens;
  const Room room = TRY(room_for_blocks(
      device, asked.utilization.value_or(large ? utilization_of_gpu : utilization_of_cpus),
      settings));
  if (asked.blocks) {
    settings.blocks = *asked.blocks;
  } else {
    settings.blocks = TRY(least_of_ranks(std::min(room.blocks, most_blocks), settings));
    if (!large) settings.blocks = std::min(settings.blocks, for_one * settings.max_sequences);
  }
  if (settings.blocks < 1 || (!asked.blocks && settings.blocks > room.blocks)) {
    return Error{ErrorKind::exhausted,
                 fmt::format("no room for a cache: {} of the device's memory may be used, and "
                             "weights and results between operations take {}",
                             format_memory(static_cast<std::uint64_t>(room.allowed)),
                             format_memory(static_cast<std::uint64_t>(room.needed)))};
  }
  const std::int64_t most_length = settings.blocks * page_tokens;
  if (settings.max_length <= most_length) return {};
  if (asked.max_length) {
    return Error{ErrorKind::exhausted,
                 fmt::format("the cache holds {} tokens, and one request may have {}: give a "
                             "smaller --max-model-len",
                             most_length, settings.max_length)};
  }
  settings.max_length = most_length;
  return {};
}

}  // namespace assay::engine
