#include "serving/simulator/capacity.h"

#include <algorithm>
#include <cmath>

namespace assay::simulator {

double kv_bytes_per_token(const Model& model) {
  return 2.0 * model.layers * model.kv_heads * model.head_size * model.bytes_per_kv_value;
}

double weight_bytes(const Model& model) {
  return model.parameters * model.bytes_per_weight;
}

double weight_bytes_read(const Model& model) {
  return (model.parameters - model.table_parameters) * model.bytes_per_weight;
}

double cache_bytes(const Memory& memory, int parts) {
  return std::max(0.0,
                  memory.bytes * memory.utilization / parts - memory.weights - memory.reserved);
}

std::uint64_t sequences_per_part(const Memory& memory, int parts) {
  return static_cast<std::uint64_t>(std::floor(cache_bytes(memory, parts) / memory.per_sequence));
}

int most_parts(const Memory& memory) {
  const double parts = memory.bytes * memory.utilization / (memory.weights + memory.reserved);
  return static_cast<int>(std::ceil(parts)) - 1;  // at exactly `parts` no cache is left
}

Hardware hardware_of(const Gpu& gpu, const Efficiency& efficiency, int parts) {
  return {gpu.bandwidth * efficiency.bandwidth / parts, gpu.flops * efficiency.compute / parts,
          efficiency.launch_seconds};
}

double chunk_pairs(double tokens, double before) {
  return tokens * (before + tokens / 2);
}

double step_seconds(const Model& model, const Hardware& hardware, const StepWork& work) {
  const double bytes = weight_bytes_read(model) + work.kv_tokens * kv_bytes_per_token(model);
  const double in_layers = model.parameters - 2 * model.table_parameters;
  const double operations =
      2 * in_layers * work.new_tokens + 2 * model.table_parameters * work.sequences +
      4.0 * model.layers * model.query_heads * model.head_size * work.prefill_pairs;
  return std::max(bytes / hardware.bandwidth, operations / hardware.flops) +
         hardware.launch_seconds;
}

}  // namespace assay::simulator
