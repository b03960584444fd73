#include "model/perceptron/mlp_self_check.h"

#include "model/perceptron/mlp_oracle.h"

namespace assay {

Result<GateResult> check_training(Device& device, Stream& stream, const MlpSettings& settings) {
  MlpSettings small = settings;
  MlpPlan& plan = small.plan;
  plan.parallel = {};                                         // each rank checks its own device
  constexpr std::int64_t some_widths[] = {72, 136, 104, 40};  // multiples of 8, of nothing larger
  for (std::size_t i = 0; i < plan.shape.widths.size(); ++i) {
    plan.shape.widths[i] = some_widths[i % std::size(some_widths)];
  }
  plan.batch = 19;
  small.accumulate = 2;  // both of one batch: the gradients of one pass, half of them added
  small.measured_products = false;
  small.loss_scaling.initial = gate_loss_scale;
  const RegressionBatches data = synthetic_regression(1, plan.batch, plan.shape.widths.front(),
                                                      plan.shape.widths.back(), settings.seed);
  auto training = TRY(MlpTraining::create(device, stream, small, data));
  const std::vector<float> weights = TRY(training->weights(stream));
  MlpOracle oracle(plan.shape, plan.batch, std::vector<double>(weights.begin(), weights.end()));
  const double loss = oracle.forward(data.x, data.targets);
  oracle.backward();
  GateResult result;
  TRY(compare_gradients(*training, stream, oracle.gradients(), loss, result));
  judge(result, settings.precision, Smoothness::kinked);
  return result;
}

}  // namespace assay
