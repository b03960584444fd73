#include "serving/load.h"

#include <bit>
#include <cmath>

#include "core/random.h"
#include "serving/client/socket_limits.h"
#include "serving/results/analysis.h"
#include "serving/server_facts.h"

namespace assay {
namespace {

/// Returns when the conversations of an open loop begin; nothing for a closed loop.
Result<std::vector<double>> plan_arrivals(const LoadSettings& settings, const LoadPoint& point,
                                          const Prompts& prompts) {
  if (settings.recorded_speed) return recorded_arrivals(prompts, *settings.recorded_speed);
  const bool closed = !settings.ramp && std::isinf(point.request_rate) && point.max_concurrency > 0;
  if (closed) return std::vector<double>();
  return conversation_arrivals(prompts, {point.request_rate, settings.burstiness, settings.ramp},
                               settings.prompts.seed);
}

/// Returns the requests per second that an open loop offers; infinite if all come at once.
double offered_rate(const std::vector<double>& arrivals, std::size_t requests) {
  if (arrivals.empty() || arrivals.back() <= 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(requests) / arrivals.back();
}

/// Draws other prompts than the measured ones, which a prefix cache would otherwise hold. From a
/// file it may draw some that are measured, too.
Status warm_up(const LoadSettings& settings, const LoadPoint& point,
               const std::function<bool()>& stop_requested) {
  if (settings.warm_up == 0) return {};
  PromptSettings chosen = settings.prompts;
  chosen.count = settings.warm_up;
  chosen.prefixes = std::min(chosen.prefixes, chosen.count);
  chosen.seed = ~settings.prompts.seed;
  const auto prompts = TRY(make_prompts(chosen));
  LoadPlan plan = settings.plan;
  plan.max_concurrency = point.max_concurrency > 0 ? point.max_concurrency : settings.warm_up;
  plan.ramp_seconds = 0;
  const LoadOutcome outcome =
      TRY(run_load(plan, *prompts, settings.targets, stop_requested, nullptr));
  for (const RequestLog& log : outcome.logs) {
    if (log.succeeded() || log.empty() || outcome.interrupted) return {};
  }
  return Error{ErrorKind::unavailable,
               "no request of the warm-up succeeded; the first: " + outcome.logs.front().error};
}

}  // namespace

std::uint64_t seed_of_load(std::uint64_t seed, const LoadPoint& point, std::size_t number,
                           std::uint64_t pair, std::uint64_t set) {
  std::uint64_t mixed = Random(seed).next();
  for (const std::uint64_t part :
       {std::bit_cast<std::uint64_t>(point.request_rate), std::uint64_t{point.max_concurrency},
        std::uint64_t{point.requests}, std::uint64_t{number}, pair}) {
    mixed = Random(mixed ^ part).next();
  }
  if (set > 1) mixed = Random(mixed ^ set).next();  // the first has none: as before there were sets
  return mixed;
}

Result<LoadReport> run_point(const LoadSettings& settings, const LoadPoint& point,
                             const std::function<bool()>& stop_requested,
                             const std::function<void(const LoadState&)>& progress) {
  PromptSettings chosen = settings.prompts;
  chosen.count = point.requests;
  const auto prompts = TRY(make_prompts(chosen));
  LoadPlan plan = settings.plan;
  plan.arrivals = TRY(plan_arrivals(settings, point, *prompts));
  plan.max_concurrency = point.max_concurrency;
  const std::size_t most =
      plan.max_concurrency > 0 ? std::min(plan.max_concurrency, prompts->size()) : prompts->size();
  TRY(check_sockets(raise_socket_limits(), most, settings.targets.size()));
  TRY(warm_up(settings, point, stop_requested));

  const auto before = scrape_all(settings.targets, plan.fields);
  LoadOutcome outcome = TRY(run_load(plan, *prompts, settings.targets, stop_requested, progress));
  LoadReport report;
  if (before) {
    const auto after = scrape_all(settings.targets, plan.fields);
    const auto difference = after ? server_metrics(*before, *after)
                                  : Result<ServerMetrics>(Error{ErrorKind::unsupported, ""});
    if (difference) report.server = *difference;
  }
  AnalysisSettings analysis = settings.analysis;
  const bool as_asked = !settings.ramp && !settings.recorded_speed;
  analysis.load.request_rate =
      as_asked ? point.request_rate : offered_rate(plan.arrivals, prompts->size());
  analysis.load.burstiness = settings.burstiness;
  if (plan.max_concurrency > 0) analysis.load.max_concurrency = plan.max_concurrency;
  analysis.load.num_prompts = prompts->size();
  analysis.client = outcome.health;
  report.result = analyse(outcome.logs, analysis);
  if (report.server) {
    const std::string warning = prefix_cache_warning(*report.server);
    if (!warning.empty()) report.result.verdict.warnings.push_back(warning);
  }
  report.logs = std::move(outcome.logs);
  report.begin = outcome.begin;
  report.interrupted = outcome.interrupted;
  return report;
}

}  // namespace assay
