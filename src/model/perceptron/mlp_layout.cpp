#include "model/perceptron/mlp_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "model/operations/column_sums.h"

namespace assay {
namespace {

constexpr std::string_view usual_name = "mlp", usual_widths = "4096-8192-8192-4096";
constexpr std::uint64_t widest = 1 << 20;

}  // namespace

double MlpShape::parameters() const {
  double total = 0;
  for (std::size_t i = 0; i < layers(); ++i) {
    const auto inputs = static_cast<double>(widths[i]),
               outputs = static_cast<double>(widths[i + 1]);
    total += (inputs + (bias ? 1 : 0)) * outputs;
  }
  return total;
}

double MlpShape::flops_per_sample() const {
  double total = 0;
  for (std::size_t i = 0; i < layers(); ++i) {
    const double products = i == 0 ? 2 : 3;
    total += products * 2 * static_cast<double>(widths[i]) * static_cast<double>(widths[i + 1]);
  }
  return total;
}

bool is_mlp(std::string_view text) {
  return text == usual_name || (text.find('-') != std::string_view::npos &&
                                text.find_first_not_of("0123456789-") == std::string_view::npos);
}

Result<MlpShape> parse_mlp_shape(std::string_view text) {
  MlpShape shape;
  std::string_view rest = text == usual_name ? usual_widths : text;
  while (true) {
    const std::size_t end = std::min(rest.find('-'), rest.size());
    const auto width = parse_integer(rest.substr(0, end));
    if (!width.ok() || *width < 1 || *width > widest || *width % 8 != 0) {
      return Error{ErrorKind::usage,
                   fmt::format("model \"{}\" has the width \"{}\"; allowed: multiples of 8 up to "
                               "{}, joined by hyphens, e.g. {}",
                               text, rest.substr(0, end), widest, usual_widths)};
    }
    shape.widths.push_back(static_cast<std::int64_t>(*width));
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  return shape;
}

MlpParameters MlpParameters::of(const MlpShape& shape, int slices) {
  TensorPlaces place(static_cast<std::size_t>(slices));
  MlpParameters p;
  for (std::size_t i = 0; i < shape.layers(); ++i) {
    Layer layer;
    layer.weight = place.next(shape.widths[i + 1], shape.widths[i]);
    layer.bias = place.next(shape.bias ? 1 : 0, shape.widths[i + 1]);
    p.layers.push_back(layer);
    p.sections.push_back(place.end_section());
  }
  p.elements = place.used();
  return p;
}

std::vector<NamedTensor> MlpParameters::named() const {
  std::vector<NamedTensor> all;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    all.push_back({fmt::format("layers.{}.weight", i), layers[i].weight});
    if (layers[i].bias.elements() > 0) {
      all.push_back({fmt::format("layers.{}.bias", i), layers[i].bias});
    }
  }
  return all;
}

MlpActivations MlpActivations::of(const MlpPlan& plan) {
  TensorPlaces place;
  MlpActivations a;
  for (const std::int64_t width : plan.shape.widths) {
    a.results.push_back(place.next(plan.batch, width));
  }
  for (std::size_t i = 1; i < plan.shape.layers(); ++i) {
    a.gradients.push_back(place.next(plan.batch, plan.shape.widths[i]));
  }
  a.elements = place.used();
  return a;
}

std::uint64_t scratch_bytes(const MlpPlan& plan) {
  std::uint64_t most = 1;
  for (const std::int64_t width : plan.shape.widths) {
    most = std::max(most, column_stripes(plan.batch, width) * static_cast<std::uint64_t>(width));
  }
  return sizeof(float) * most;
}

TrainingMemory memory_of(const MlpPlan& plan) {
  TrainingMemory memory =
      memory_of_parameters(plan, MlpParameters::of(plan.shape, plan.parallel.ranks).sections);
  memory.activations = MlpActivations::of(plan).elements * size_of(plan.type);
  memory.scratch = scratch_bytes(plan);
  return memory;
}

std::int64_t largest_batch(MlpPlan plan, std::uint64_t bytes) {
  return largest_batch(
      [&](std::int64_t batch) {
        plan.batch = batch;
        return memory_of(plan);
      },
      bytes);
}

std::string what_would_fit(const MlpPlan& plan, std::uint64_t bytes) {
  if (const std::int64_t batch = largest_batch(plan, bytes); batch > 0) {
    return fmt::format("batch={} would fit", batch);
  }
  MlpPlan narrow = plan;
  narrow.type = DataType::bf16;
  narrow.states = OptimizerStates::stochastic;
  if (largest_batch(narrow, bytes) > 0) return "precision=bf16 states=stochastic would fit";
  return "nothing that keeps this model would fit";
}

std::vector<OperationCost> costs_of(const MlpPlan& plan) {
  const auto rows = static_cast<double>(plan.batch);
  const auto element = static_cast<double>(size_of(plan.type));
  const std::vector<std::int64_t>& widths = plan.shape.widths;
  std::vector<OperationCost> costs;
  const auto add = [&](Phase phase, const std::string& name, double flops, double elements) {
    costs.push_back({phase, name, flops, elements * element});
  };
  const auto product = [&](std::size_t layer) {
    return ProductCost{rows, static_cast<double>(widths[layer + 1]),
                       static_cast<double>(widths[layer])};
  };
  add(Phase::forward, "input", 0, 2 * rows * static_cast<double>(widths.front()));
  for (std::size_t i = 0; i < plan.shape.layers(); ++i) {
    add(Phase::forward, fmt::format("layer{}", i), product(i).flops(), product(i).elements());
  }
  add(Phase::forward, "loss", 0, 3 * rows * static_cast<double>(widths.back()));
  for (std::size_t i = plan.shape.layers(); i-- > 0;) {
    add(Phase::backward, fmt::format("layer{}_weight", i), product(i).flops(),
        product(i).elements());
    if (plan.shape.bias) {
      add(Phase::backward, fmt::format("layer{}_bias", i), 0, rows * product(i).outputs);
    }
    if (i == 0) break;
    add(Phase::backward, fmt::format("layer{}_input", i), product(i).flops(),
        product(i).elements() + rows * product(i).inputs);  // the ReLU's results
  }
  const auto parameters = static_cast<double>(MlpParameters::of(plan.shape).elements);
  costs.push_back({Phase::update, "optimizer", 0, parameters * update_bytes(plan)});
  return costs;
}

}  // namespace assay
