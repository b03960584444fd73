// tensor_parallel: tensor parallelism, where several ranks divide every layer of a model: the time
// of a pass, and how much of it is exposed communication.
#include <fmt/format.h>

#include "core/units.h"
#include "measure/benchmarks/tensor_parallel/tensor_cell.h"
#include "measure/benchmarks/tensor_parallel/tensor_conclusions.h"
#include "measure/benchmarks/tensor_parallel/tensor_parallel_layers.h"
#include "ranks/collective/communicators.h"

namespace assay::tensor_parallel_benchmark {
namespace {

class TensorParallelBenchmark final : public Benchmark {
 public:
  std::string_view name() const override { return "tensor_parallel"; }
  std::string_view summary() const override {
    return "tensor parallelism: time of a pass and its communication";
  }
  const std::vector<Axis>& axes() const override { return tensor_axes(); }
  bool redundant(const Cell& cell) const override { return is_redundant_tensor_cell(cell); }
  std::vector<Cell> expand(const Cell& cell, const Device& device,
                           const Team& team) const override {
    return expand_tensor_cell(cell, device, team);
  }
  bool takes_team() const override { return true; }
  bool queues_collectives() const override { return true; }
  bool depends_on_device() const override { return true; }

  std::optional<std::string> unsupported(const Cell& cell, const Device& device) const override {
    const auto parsed = parse_tensor_cell(cell, device);
    if (!parsed.ok()) return parsed.error().message;
    const std::uint64_t needed = parsed->bytes(), most = device.facts().memory_bytes;
    if (most == 0 || needed <= most) return std::nullopt;
    return fmt::format("needs {} on each rank, the device has {}", format_memory(needed),
                       format_memory(most));
  }

  std::string requirements(const Cell& cell, const Device& device) const override {
    const auto parsed = parse_tensor_cell(cell, device);
    if (!parsed.ok()) return parsed.error().message;
    const std::string all = format_memory(parsed->bytes()) + " of memory on each rank";
    const auto* const decoder = std::get_if<DecoderCell>(&parsed->model);
    if (decoder == nullptr) return all;
    const DecoderMemory memory = memory_of(decoder->settings(0));
    return fmt::format("{}: weights {}, cache {}, activations {}", all,
                       format_memory(memory.weights), format_memory(memory.cache),
                       format_memory(memory.activations));
  }

  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override {
    const TensorCell parsed = TRY(parse_tensor_cell(cell, context.device));
    if (parsed.ranks > context.team.size()) {
      return Error{
          ErrorKind::unsupported,
          fmt::format("ranks={} of a team of {}; start as many: --ranks, --hosts or mpirun",
                      parsed.ranks, context.team.size())};
    }
    ModelRanks ranks = {nullptr, &context.team};
    if (parsed.ranks > 1) {
      ranks.communicator = TRY(context.communicators.first(parsed.library, parsed.ranks));
    }
    if (const auto* const decoder = std::get_if<DecoderCell>(&parsed.model)) {
      DecoderCell shared = *decoder;
      shared.graph = parsed.graph;
      return prepare_decoder_case(std::move(shared), context, ranks);
    }
    return prepare_tensor_parallel_layers(parsed, context, ranks);
  }
  std::vector<Conclusion> conclusions(std::span<const CellValue> values) const override {
    return tensor_conclusions(values);
  }
};

const TensorParallelBenchmark benchmark;
const BenchmarkRegistry::Add registered{&benchmark};

}  // namespace
}  // namespace assay::tensor_parallel_benchmark
