#include "serving/simulator/measured_times.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "core/shown_text.h"

namespace assay::simulator {
namespace {

StepWork work_of(const MeasuredPass& pass) {
  const double tokens = pass.sequences * (pass.decodes ? 1 : pass.tokens);
  return {.new_tokens = tokens,
          .sequences = pass.sequences,
          .kv_tokens = pass.sequences * pass.tokens,
          .prefill_pairs = pass.decodes ? 0 : pass.sequences * chunk_pairs(pass.tokens, 0)};
}

/// Weighted sums of passes with the same number of new tokens.
struct Knot {
  double weight = 0, seconds = 0, cached = 0, pairs = 0;

  void add(double w, double s, const StepWork& work) {
    weight += w;
    seconds += w * s;
    cached += w * work.kv_tokens;
    pairs += w * work.prefill_pairs;
  }
};

/// What times depend on besides the model and the passes' sizes, as text.
std::string conditions_of(const Record& record) {
  std::string text = record.device.name;
  if (!record.device.partition.empty()) text += " " + record.device.partition;
  for (const std::string_view axis : {"precision", "quantization", "cache"}) {
    const std::string_view value = record.cell.text(axis);
    if (!value.empty()) text += fmt::format(" {}={}", axis, value);
  }
  if (record.ranks.size() > 1) text += fmt::format(" ranks={}", record.ranks.size());
  return shown_line(text, 120);
}

/// Returns the tokens of each sequence. In decode, a sample generates several tokens, the last of
/// which has the context of the cell, so that their mean context is shorter.
double tokens_of(const Cell& cell, bool decodes) {
  if (!decodes) return static_cast<double>(cell.integer("prompt"));
  const auto generated = static_cast<double>(std::max<std::uint64_t>(cell.integer("generate"), 1));
  return static_cast<double>(cell.integer("context")) - (generated - 1) / 2;
}

}  // namespace

Result<MeasuredTimes> MeasuredTimes::fit(const std::vector<MeasuredPass>& passes) {
  const auto any = [&](bool decodes) {
    return std::any_of(passes.begin(), passes.end(),
                       [&](const MeasuredPass& pass) { return pass.decodes == decodes; });
  };
  for (const bool decodes : {true, false}) {
    if (any(decodes)) continue;
    const char* name = decodes ? "decode" : "prefill";
    return Error{
        ErrorKind::usage,
        fmt::format("there is no result of {}: measure some with `assay run {}`", name, name)};
  }
  std::map<double, Knot> knots;
  for (const MeasuredPass& pass : passes) {
    const StepWork work = work_of(pass);
    knots[work.new_tokens].add(1 / (pass.seconds * pass.seconds), pass.seconds, work);
  }
  // What differs within a knot is due to caches and pairs alone.
  double cc = 0, cp = 0, pp = 0, cs = 0, ps = 0;
  for (const MeasuredPass& pass : passes) {
    const StepWork work = work_of(pass);
    const Knot& knot = knots.at(work.new_tokens);
    const double w = 1 / (pass.seconds * pass.seconds);
    const double s = pass.seconds - knot.seconds / knot.weight;
    const double c = work.kv_tokens - knot.cached / knot.weight;
    const double p = work.prefill_pairs - knot.pairs / knot.weight;
    cc += w * c * c;
    cp += w * c * p;
    pp += w * p * p;
    cs += w * c * s;
    ps += w * p * s;
  }
  MeasuredTimes times;
  const double determinant = cc * pp - cp * cp;
  if (determinant > 1e-9 * cc * pp) {
    times.separates_pairs_ = true;
    times.per_cached_token_ = std::max(0.0, (cs * pp - ps * cp) / determinant);
    times.per_pair_ = std::max(0.0, (ps * cc - cs * cp) / determinant);
  } else if (cc > 0) {
    times.per_cached_token_ = std::max(0.0, cs / cc);
  } else if (pp > 0) {
    times.separates_pairs_ = true;
    times.per_pair_ = std::max(0.0, ps / pp);
  }
  for (const auto& [tokens, knot] : knots) {
    const double rest =
        knot.seconds - times.per_cached_token_ * knot.cached - times.per_pair_ * knot.pairs;
    times.base_[tokens] = std::max(0.0, rest / knot.weight);
  }
  for (const MeasuredPass& pass : passes) {
    const double error = times.seconds(work_of(pass)) / pass.seconds - 1;
    times.largest_error_ = std::max(times.largest_error_, std::abs(error));
  }
  return times;
}

double MeasuredTimes::base(double tokens) const {
  const auto after = base_.lower_bound(tokens);
  if (after == base_.end()) return base_.rbegin()->second * tokens / base_.rbegin()->first;
  if (after == base_.begin() || after->first == tokens) return after->second;
  const auto before = std::prev(after);
  const double share = (tokens - before->first) / (after->first - before->first);
  return before->second + share * (after->second - before->second);
}

double MeasuredTimes::seconds(const StepWork& work) const {
  return base(work.new_tokens) + per_cached_token_ * work.kv_tokens +
         per_pair_ * work.prefill_pairs;
}

Result<std::vector<MeasuredPass>> measured_passes(const std::vector<Record>& records,
                                                  std::string_view model) {
  std::set<std::string> models, conditions;
  std::vector<MeasuredPass> passes;
  for (const Record& record : records) {
    const bool decodes = record.cell.benchmark() == "decode";
    if ((!decodes && record.cell.benchmark() != "prefill") || !record.value) continue;
    const std::string name(record.cell.text("model"));
    if (!model.empty() && name != model) {
      models.insert(name);
      continue;
    }
    models.insert(name);
    conditions.insert(conditions_of(record));
    passes.push_back({decodes, static_cast<double>(record.cell.integer("batch")),
                      tokens_of(record.cell, decodes), record.value->median});
  }
  if (passes.empty() || (model.empty() && models.size() > 1)) {
    return Error{
        ErrorKind::usage,
        fmt::format("--model \"{}\": the store has results of prefill and decode of these "
                    "models: {}",
                    model, models.empty() ? "none" : fmt::format("{}", fmt::join(models, ", ")))};
  }
  if (conditions.size() > 1) {
    return Error{ErrorKind::usage,
                 fmt::format("--model \"{}\": the store has results of prefill and decode under "
                             "{} conditions: {}; name a store whose results share one",
                             model, conditions.size(), fmt::join(conditions, "; "))};
  }
  return passes;
}

}  // namespace assay::simulator
