#include "model/gpt_gate.h"

#include <algorithm>
#include <cmath>

#include "model/gpt_oracle.h"

namespace assay {
namespace {

/// Small, and awkward: nothing but heads and rows is a multiple of anything.
TrainingSettings small_version_of(const TrainingSettings& settings, const DeviceFacts& facts) {
  TrainingSettings small = settings;
  TrainingPlan& plan = small.plan;
  const std::int64_t head_width = std::min<std::int64_t>(plan.shape.head_width(), 128);
  plan.shape.layers = 2;
  plan.shape.heads = 2;
  plan.shape.width = 2 * head_width;
  plan.shape.hidden = 2 * head_width + 8;
  plan.shape.vocabulary = 101;
  // Attention by tiles needs several tiles of keys, the last one not full.
  const bool tiles = plan.attention != AttentionWay::plain;
  plan.shape.positions = plan.sequence = !tiles ? 19 : facts.emulated ? 70 : 150;
  plan.batch = 2;
  // A library that only takes whole tiles gets whole ones.
  if (is_by_library(plan.attention) &&
      fused_attention_unsupported(fused_attention_of(plan), facts)) {
    plan.shape.positions = plan.sequence = 256;
  }
  small.accumulate = 2;  // both of one batch: the gradients of one pass, half of them added
  small.measured_products = false;
  return small;
}

/// |a - b| / |b| over one tensor.
double distance(const std::vector<float>& a, const std::vector<double>& b, const Tensor& tensor) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.elements()); ++i) {
    const double x = a[tensor.offset + i], y = b[tensor.offset + i];
    difference += (x - y) * (x - y);
    size += y * y;
  }
  return size > 0 ? std::sqrt(difference / size) : std::sqrt(difference);
}

/// Compares gradients and loss of one way of computing; `result` keeps the worst of all.
Status compare(GptTraining& training, Stream& stream, const GptOracle<double>& oracle, double loss,
               GateResult& result) {
  for (std::uint64_t pass = 0; pass < 2; ++pass) TRY(training.pass(stream, pass));
  const std::vector<float> gradients = TRY(training.gradients(stream));
  const double error = std::abs(TRY(training.losses(stream, 0, 1)).front() - loss);
  if (is_worse(error, result.loss_error)) result.loss_error = error;
  for (const GptParameters::Named& named : oracle.layout().named()) {
    const double distant = distance(gradients, oracle.gradients(), named.tensor);
    if (!is_worse(distant, result.gradient_error)) continue;
    result.gradient_error = distant;
    result.worst = named.name;
  }
  return {};
}

}  // namespace

bool is_worse(double error, double than) {
  return !std::isnan(than) && !(error <= than);
}

Result<GateResult> check_training(Device& device, Stream& stream,
                                  const TrainingSettings& settings) {
  TrainingSettings small = small_version_of(settings, device.facts());
  const TrainingPlan plan = small.plan;
  const TokenStream text =
      synthetic_tokens(static_cast<std::int32_t>(plan.shape.vocabulary), 1024, settings.seed);
  const TokenBatches data = TRY(cut_batches(text, 1, plan.batch, plan.sequence, settings.seed));
  small.fuse_gelu = false;
  auto training = TRY(GptTraining::create(device, stream, small, data));
  const std::vector<float> weights = TRY(training->weights(stream));
  GptOracle<double> oracle(plan.shape, plan.batch, plan.sequence,
                           std::vector<double>(weights.begin(), weights.end()));
  const double loss = oracle.forward(data.tokens, data.targets);
  oracle.backward();
  GateResult result;
  TRY(compare(*training, stream, oracle, loss, result));
  if (training->can_fuse_gelu()) {  // which way is faster for the real sizes is not known yet
    small.fuse_gelu = true;
    training = TRY(GptTraining::create(device, stream, small, data));
    TRY(compare(*training, stream, oracle, loss, result));
  }
  const bool narrow = settings.precision == DataType::bf16;
  const bool rounded = settings.precision == DataType::tf32;
  result.tolerance = narrow ? 3e-2 : rounded ? 5e-3 : 1e-4;
  result.passed =
      result.gradient_error <= result.tolerance && result.loss_error <= (narrow    ? 0.02
                                                                         : rounded ? 1e-3
                                                                                   : 1e-4);
  return result;
}

}  // namespace assay
