#include "serving/simulator/compared_loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "serving/simulator/workload_run.h"
#include "statistics/summary.h"

namespace assay::simulator {
namespace {

double number_of(std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() ? value : 0;
}

/// Axes that a record of `assay load` has only if its load is one that is not simulated.
constexpr std::array<std::string_view, 5> not_simulated = {"spread", "prefix", "stream",
                                                           "burstiness", "ramp_rate"};

bool is_comparable(const Record& record) {
  const Cell& cell = record.cell;
  const double rate = number_of(cell.text("request_rate"));
  return cell.benchmark() == "serving" && record.status == RecordStatus::passed &&
         cell.text("dataset") == "random" && cell.integer("input") > 0 &&
         cell.integer("output") > 0 && cell.integer("num_prompts") > 0 &&
         (cell.text("max_concurrency") == "none" ? rate > 0 : !std::isfinite(rate)) &&
         std::ranges::all_of(not_simulated,
                             [&](std::string_view axis) { return cell.text(axis).empty(); });
}

double measured_value(const Record& record, std::string_view name) {
  for (const Metric& metric : record.metrics) {
    if (metric.name == name) return metric.value;
  }
  return 0;
}

Result<ComparedLoad> compare_one(const Record& record, const EngineSettings& engine, int engines) {
  const Cell& cell = record.cell;
  ComparedLoad compared;
  compared.requests = cell.integer("num_prompts");
  compared.prompt_tokens = cell.integer("input");
  compared.output_tokens = cell.integer("output");
  const bool closed = cell.text("max_concurrency") != "none";
  Arrival loop;
  if (closed) {
    loop.in_flight = cell.integer("max_concurrency");
    compared.load = fmt::format("{} in flight", loop.in_flight);
  } else {
    compared.load = fmt::format("{} req/s", cell.text("request_rate"));
  }
  const double rate = closed ? 1 : number_of(cell.text("request_rate"));
  const auto workload = poisson_workload(compared.requests, rate, compared.prompt_tokens,
                                         compared.output_tokens, engine.seed);
  const WorkloadOutcome outcome = TRY(run_workload(engine, engines, workload, loop));
  std::vector<double> ttft, tpot, e2e;
  double end = 0;
  for (const RequestOutcome& request : outcome.requests) {
    ttft.push_back(request.first - request.arrival);
    e2e.push_back(request.finish - request.arrival);
    tpot.push_back((request.finish - request.first) /
                   static_cast<double>(std::max<std::uint64_t>(1, compared.output_tokens - 1)));
    end = std::max(end, request.finish);
  }
  const auto add = [&](const char* name, const char* unit, double predicted) {
    const double measured = measured_value(record, name);
    if (measured > 0) compared.figures.push_back({name, unit, measured, predicted});
  };
  add("output_throughput", "tokens/s",
      static_cast<double>(compared.requests * compared.output_tokens) / end);
  add("mean_ttft", "s", mean(ttft));
  add("mean_tpot", "s", mean(tpot));
  add("mean_e2el", "s", mean(e2e));
  return compared;
}

}  // namespace

Result<std::vector<ComparedLoad>> compare_loads(const std::vector<Record>& records,
                                                const EngineSettings& engine, int engines) {
  std::vector<ComparedLoad> all;
  for (const Record& record : records) {
    if (is_comparable(record)) all.push_back(TRY(compare_one(record, engine, engines)));
  }
  if (!all.empty()) return all;
  return Error{ErrorKind::usage,
               "the store has no valid result of `assay load` that can be simulated: streamed "
               "replies to random prompts of one length without --prefix, with --request-rate or "
               "--max-concurrency alone, no bursts and no ramp"};
}

}  // namespace assay::simulator
