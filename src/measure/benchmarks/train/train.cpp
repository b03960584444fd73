// train: steps of training a GPT or a multi-layer perceptron.
#include "measure/benchmarks/train/train_cell.h"
#include "measure/benchmarks/train/train_scaling.h"
#include "measure/benchmarks/train/training_benchmark.h"

namespace assay::train_benchmark {
namespace {

class TrainBenchmark final : public TrainingBenchmark {
 public:
  std::string_view name() const override { return "train"; }
  std::string_view summary() const override { return "training of a model: tokens/s or samples/s"; }
  const std::vector<Axis>& axes() const override { return train_axes(); }
  std::vector<Conclusion> conclusions(std::span<const CellValue> values) const override {
    return scaling_conclusions(values);
  }

 protected:
  Cell decide(const Cell& cell, const DeviceFacts& facts) const override {
    return decide_train_cell(cell, facts);
  }
  Result<TrainCell> parse(const Cell& cell) const override { return parse_train_cell(cell); }
};

const TrainBenchmark benchmark;
const Registry<const Benchmark*>::Add registered{&benchmark};

}  // namespace
}  // namespace assay::train_benchmark
