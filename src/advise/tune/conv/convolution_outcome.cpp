#include "advise/tune/conv/convolution_outcome.h"

#include <cmath>

#include "advise/tune/proof.h"
#include "advise/tune/step_members.h"
#include "core/json.h"
#include "measure/benchmarks/conv/conv_cell.h"
#include "measure/sampling/roofline.h"
#include "statistics/summary.h"

namespace assay {
namespace {

Error no_step() {
  return {ErrorKind::usage, "it is no step of tuning convolutions"};
}

Result<MeasuredConvolution> measured_from_json(const Json& json) {
  if (!json.is_object()) return no_step();
  MeasuredConvolution measured;
  if (json.contains("reason")) {
    measured.reason = TRY(text_member(json, "reason", no_step()));
    return measured;
  }
  measured.seconds = TRY(number_member(json, "seconds", no_step()));
  measured.algorithm = TRY(text_member(json, "algorithm", no_step()));
  measured.first = json.value("first", Json()) == true;
  if (*measured.seconds == 0) return no_step();
  return measured;
}

Json measured_json(const MeasuredConvolution& one) {
  if (!one.seconds) return {{"reason", one.reason}};
  Json json = {{"seconds", *one.seconds}, {"algorithm", one.algorithm}};
  if (one.first) json["first"] = true;
  return json;
}

Result<ConvolutionRunStep> run_from_json(const Json& json) {
  ConvolutionRunStep step;
  const auto pair = json.find("pair"), tuned = json.find("tuned"), all = json.find("measured");
  if (pair == json.end() || !pair->is_number_unsigned() || tuned == json.end() ||
      !tuned->is_boolean() || all == json.end() || !all->is_object()) {
    return no_step();
  }
  step.pair = pair->get<std::size_t>();
  step.tuned = tuned->get<bool>();
  step.spent_seconds = TRY(number_member(json, "spent_seconds", no_step()));
  for (const auto& [problem, one] : all->items()) {
    step.measured[problem] = TRY(measured_from_json(one));
  }
  return step;
}

/// The times of one convolution in all runs.
struct Times {
  std::vector<double> before, after;
  std::vector<ScorePair> pairs;
};

/// Collects the times of one convolution from all runs; a failure goes into `outcome.reason`.
Times times_of(const std::string& problem, const std::vector<ConvolutionRunStep>& runs,
               ConvolutionOutcome& outcome) {
  Times times;
  std::map<std::size_t, std::pair<std::optional<double>, std::optional<double>>> by_pair;
  for (const ConvolutionRunStep& run : runs) {
    const auto found = run.measured.find(problem);
    if (found == run.measured.end()) continue;
    const MeasuredConvolution& one = found->second;
    if (!one.seconds) {
      outcome.reason = (run.tuned ? "tuned: " : "before: ") + one.reason;
      return {};
    }
    (run.tuned ? by_pair[run.pair].second : by_pair[run.pair].first) = *one.seconds;
    (run.tuned ? times.after : times.before).push_back(*one.seconds);
    (run.tuned ? outcome.after : outcome.before).algorithm = one.algorithm;
  }
  for (const auto& [pair, seconds] : by_pair) {
    if (!seconds.first || !seconds.second) continue;  // the tuning stopped within this pair
    times.pairs.push_back({-std::log(*seconds.first), -std::log(*seconds.second)});
  }
  return times;
}

void take_proof(const Times& times, ConvolutionOutcome& outcome) {
  if (!outcome.reason.empty()) return;
  if (times.pairs.empty()) {
    outcome.reason = "no pair of runs had the time to measure it; give more with --budget";
    return;
  }
  const Proof proof = prove(times.pairs);
  outcome.pairs = proof.pairs;
  outcome.before.seconds = median(times.before);
  outcome.after.seconds = median(times.after);
  outcome.gain = proof.ratio;
  outcome.gain_low = proof.interval95.low;
  outcome.gain_high = proof.interval95.high;
  outcome.faster = proof.better;
  outcome.slower = proof.worse;
  outcome.equal = !outcome.faster && !outcome.slower && proof.verdict == Verdict::equal;
}

}  // namespace

Json to_json(const ConvolutionSearchStep& step) {
  return {{"step", "search"},
          {"problem", step.problem},
          {"found", measured_json(step.found)},
          {"spent_seconds", step.spent_seconds}};
}

Json to_json(const ConvolutionRunStep& step) {
  Json json = {{"step", "run"},
               {"pair", step.pair},
               {"tuned", step.tuned},
               {"spent_seconds", step.spent_seconds},
               {"measured", Json::object()}};
  for (const auto& [problem, one] : step.measured) {
    json["measured"][problem] = measured_json(one);
  }
  return json;
}

Status add_step(ConvolutionSteps& steps, const Json& json) {
  if (!json.is_object()) return no_step();
  const std::string kind = TRY(text_member(json, "step", no_step()));
  if (kind == "search") {
    ConvolutionSearchStep step;
    step.problem = TRY(text_member(json, "problem", no_step()));
    step.spent_seconds = TRY(number_member(json, "spent_seconds", no_step()));
    step.found = TRY(measured_from_json(json.value("found", Json())));
    steps.searches[step.problem] = step;
  } else if (kind == "run") {
    steps.runs.push_back(TRY(run_from_json(json)));
  } else {
    return no_step();
  }
  return {};
}

std::vector<ConvolutionOutcome> outcomes_of(const std::vector<CountedConvolution>& convolutions,
                                            const ConvolutionSteps& steps,
                                            const DeviceFacts& facts) {
  std::vector<ConvolutionOutcome> outcomes;
  for (const CountedConvolution& convolution : convolutions) {
    ConvolutionOutcome outcome;
    outcome.convolution = convolution;
    const std::string problem = describe(convolution.problem);
    const auto search = steps.searches.find(problem);
    if (search == steps.searches.end()) {
      outcome.reason = "not tuned yet";
    } else if (const MeasuredConvolution& found = search->second.found; !found.seconds) {
      outcome.reason = found.reason;
    } else if (found.first) {
      outcome.before = outcome.after = {found.algorithm, *found.seconds};
    } else {
      take_proof(times_of(problem, steps.runs, outcome), outcome);
    }
    const Work work = {.bytes = convolution.problem.bytes(),
                       .flops = convolution.problem.flops(),
                       .math = convolution.problem.type};
    outcome.floor_seconds = floor_seconds(facts, work, Limit::compute);
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

Json to_json(const ConvolutionOutcome& outcome) {
  Json json = Json::object();
  for (const AxisSetting& setting : conv_settings(outcome.convolution.problem)) {
    json[setting.axis] = setting.values;
  }
  json["calls"] = outcome.convolution.count;
  if (outcome.stays) json["stays"] = true;
  if (!outcome.reason.empty()) {
    json["reason"] = outcome.reason;
    return json;
  }
  json["before"] = {{"algorithm", outcome.before.algorithm}, {"seconds", outcome.before.seconds}};
  json["after"] = {{"algorithm", outcome.after.algorithm}, {"seconds", outcome.after.seconds}};
  json["pairs"] = outcome.pairs;
  json["gain"] = {outcome.gain, outcome.gain_low, outcome.gain_high};
  json["faster"] = outcome.faster;
  json["slower"] = outcome.slower;
  json["equal"] = outcome.equal;
  if (outcome.floor_seconds) json["floor_seconds"] = *outcome.floor_seconds;
  return json;
}

}  // namespace assay
