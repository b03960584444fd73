#include "serving/simulator/deployment.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "serving/server/block_hash.h"

namespace assay::simulator {
namespace {

std::string place_of(const Deployment& deployment) {
  return deployment.parts == 1 ? deployment.gpu.name
                               : fmt::format("1/{} of {}", deployment.parts, deployment.gpu.name);
}

}  // namespace

Result<DeployedEngine> deploy(const Deployment& deployment) {
  const Model& model = deployment.model;
  const double per_block = kv_bytes_per_token(model) * static_cast<double>(block_tokens);
  const Memory memory = {deployment.gpu.memory_bytes, deployment.utilization, deployment.reserved,
                         weight_bytes(model), per_block};
  // A block pool counts in 32 bits, which no GPU exceeds.
  const std::uint64_t blocks =
      std::min<std::uint64_t>(sequences_per_part(memory, deployment.parts), UINT32_MAX - 1);
  const std::uint64_t room = blocks * block_tokens;
  if (room == 0) {
    return Error{
        ErrorKind::exhausted,
        fmt::format("{} has no room for a cache: {} of {} would be used, and weights and "
                    "workspace take {}; it can be cut into {} parts at most",
                    place_of(deployment),
                    format_memory(static_cast<std::uint64_t>(memory.bytes * memory.utilization /
                                                             deployment.parts)),
                    format_memory(static_cast<std::uint64_t>(memory.bytes / deployment.parts)),
                    format_memory(static_cast<std::uint64_t>(memory.weights + memory.reserved)),
                    most_parts(memory))};
  }
  if (deployment.max_length > room) {
    return Error{ErrorKind::exhausted,
                 fmt::format("the cache of {} holds {} tokens, and one request may have {}: give a "
                             "smaller --max-model-len",
                             place_of(deployment), room, deployment.max_length)};
  }
  DeployedEngine deployed;
  deployed.max_length =
      deployment.max_length > 0 ? deployment.max_length : std::min(model.context, room);
  EngineSettings& engine = deployed.engine;
  engine.model = model;
  engine.hardware = hardware_of(deployment.gpu, deployment.efficiency, deployment.parts);
  engine.scheduler.blocks = static_cast<std::uint32_t>(blocks);
  engine.scheduler.max_sequences = deployment.max_sequences;
  engine.scheduler.max_batched_tokens = deployment.max_batched_tokens;
  engine.scheduler.prefix_cache = deployment.prefix_cache;
  engine.jitter = deployment.jitter;
  return deployed;
}

}  // namespace assay::simulator
