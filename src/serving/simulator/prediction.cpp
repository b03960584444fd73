#include "serving/simulator/prediction.h"

#include <algorithm>

#include "serving/simulator/workload_run.h"
#include "statistics/summary.h"

namespace assay::simulator {
namespace {

Result<Prediction> predict_one(Deployment deployment, int parts, const PredictedLoad& load,
                               double rate) {
  deployment.parts = parts;
  EngineSettings engine = TRY(deploy(deployment)).engine;
  engine.seed = load.seed;
  const auto workload =
      poisson_workload(load.requests, rate, load.prompt_tokens, load.output_tokens, load.seed);
  const WorkloadOutcome outcome = TRY(run_workload(engine, parts, workload));
  std::vector<double> ttft, tpot, e2e;
  double end = 0;
  for (std::size_t i = 0; i < workload.size(); ++i) {
    const RequestOutcome& request = outcome.requests[i];
    ttft.push_back(request.first - workload[i].arrival);
    e2e.push_back(request.finish - workload[i].arrival);
    tpot.push_back((request.finish - request.first) /
                   static_cast<double>(std::max<std::uint64_t>(1, load.output_tokens - 1)));
    end = std::max(end, request.finish);
  }
  for (auto* times : {&ttft, &tpot, &e2e}) std::sort(times->begin(), times->end());
  Prediction prediction;
  prediction.rate = rate;
  prediction.engines = parts;
  prediction.requests_per_second = static_cast<double>(load.requests) / end;
  prediction.output_tokens_per_second =
      prediction.requests_per_second * static_cast<double>(load.output_tokens);
  prediction.ttft_p50 = quantile(ttft, 0.5);
  prediction.ttft_p99 = quantile(ttft, 0.99);
  prediction.tpot_p50 = quantile(tpot, 0.5);
  prediction.e2e_p50 = quantile(e2e, 0.5);
  prediction.e2e_p99 = quantile(e2e, 0.99);
  prediction.preemptions = outcome.preemptions;
  return prediction;
}

}  // namespace

Result<std::vector<Prediction>> predict(const Deployment& deployment, const PredictedLoad& load,
                                        const std::vector<double>& rates) {
  std::vector<Prediction> predictions;
  for (const double rate : rates) {
    predictions.push_back(TRY(predict_one(deployment, 1, load, rate)));
    if (deployment.parts == 1) continue;
    predictions.push_back(TRY(predict_one(deployment, deployment.parts, load, rate)));
  }
  return predictions;
}

}  // namespace assay::simulator
