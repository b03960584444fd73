// finetune: steps of fine-tuning a Llama or Qwen on documents, all of it or adapters.
#include "measure/benchmarks/finetune/finetune_cell.h"
#include "measure/benchmarks/train/training_benchmark.h"

namespace assay::finetune_benchmark {
namespace {

class FinetuneBenchmark final : public TrainingBenchmark {
 public:
  std::string_view name() const override { return "finetune"; }
  std::string_view summary() const override {
    return "fine-tuning of a Llama or Qwen, full or LoRA: tokens/s";
  }
  const std::vector<Axis>& axes() const override { return finetune_axes(); }

 protected:
  Cell decide(const Cell& cell, const DeviceFacts& facts) const override {
    return decide_finetune_cell(cell, facts);
  }
  Result<TrainCell> parse(const Cell& cell) const override { return parse_finetune_cell(cell); }
};

const FinetuneBenchmark benchmark;
const Registry<const Benchmark*>::Add registered{&benchmark};

}  // namespace
}  // namespace assay::finetune_benchmark
