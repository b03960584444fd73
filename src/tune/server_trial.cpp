#include "tune/server_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/units.h"
#include "judge/compare/verdict.h"
#include "statistics/paired.h"

namespace assay {
namespace {

std::string option_of(const Setting& setting) {
  return "--" + setting.variable;
}

void set_parameter(std::vector<std::string>& words, const Setting& setting) {
  const std::string option = option_of(setting);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(option + "=")) {
      words[i] = option + "=" + setting.value;
      return;
    }
    if (words[i] != option) continue;
    const bool has_value = i + 1 < words.size() && !words[i + 1].starts_with('-');
    if (has_value && !setting.value.empty()) words[i + 1] = setting.value;
    if (has_value || setting.value.empty()) return;
  }
  words.push_back(option);
  if (!setting.value.empty()) words.push_back(setting.value);
}

const Latency& latency_of_limit(const ServingResult& result, const LatencyLimit& limit) {
  switch (limit.of) {
    case LatencyLimit::Of::ttft:
      return result.ttft;
    case LatencyLimit::Of::tpot:
      return result.tpot;
    case LatencyLimit::Of::itl:
      return result.itl;
    case LatencyLimit::Of::e2el:
      break;
  }
  return result.e2el;
}

/// Empty if the result does not have this latency.
std::optional<double> value_of(const ServingResult& result, const LatencyLimit& limit) {
  const Latency& latency = latency_of_limit(result, limit);
  if (!limit.percent) return latency.mean;
  const Percentile* percentile = latency.percentile(*limit.percent);
  return percentile == nullptr ? std::nullopt : std::optional(percentile->value);
}

Error wrong_limit(std::string_view text) {
  return {ErrorKind::usage,
          fmt::format("\"{}\" is not allowed; allowed: mean_ or a percentile of ttft, tpot, itl or "
                      "e2el with a time, e.g. p99_e2el:500ms",
                      text)};
}

Result<LatencyLimit> parse_limit(std::string_view text) {
  const std::size_t colon = text.find(':'), line = text.find('_');
  if (colon == std::string_view::npos || line == std::string_view::npos || line > colon) {
    return wrong_limit(text);
  }
  LatencyLimit limit;
  limit.name = text.substr(0, colon);
  const std::string_view which = text.substr(0, line), of = text.substr(line + 1, colon - line - 1);
  const auto seconds = parse_duration(text.substr(colon + 1));
  if (!seconds) return wrong_limit(text);
  limit.seconds = *seconds;
  if (which != "mean") {
    double percent = 0;
    const auto [end, error] =
        std::from_chars(which.data() + 1, which.data() + which.size(), percent);
    if (!which.starts_with('p') || error != std::errc() || end != which.data() + which.size() ||
        !(percent > 0) || !(percent < 100)) {
      return wrong_limit(text);
    }
    limit.percent = percent;
  }
  constexpr std::string_view names[] = {"ttft", "tpot", "itl", "e2el"};
  const auto* const at = std::find(std::begin(names), std::end(names), of);
  if (at == std::end(names)) return wrong_limit(text);
  limit.of = static_cast<LatencyLimit::Of>(at - names);
  return limit;
}

}  // namespace

Result<std::vector<Setting>> parse_server_setting(std::string_view text) {
  const bool has_value = text.find('=') != std::string_view::npos;
  if (has_value || names_variable(text)) return parse_setting(text);
  return std::vector<Setting>{{std::string(text), ""}};
}

std::vector<std::string> with_parameters(std::vector<std::string> words, const Settings& settings) {
  for (const Setting& setting : settings) {
    if (!names_variable(setting.variable)) set_parameter(words, setting);
  }
  return words;
}

std::vector<std::pair<std::string, std::string>> variables_of(const Settings& settings) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const Setting& setting : settings) {
    if (names_variable(setting.variable)) variables.emplace_back(setting.variable, setting.value);
  }
  return variables;
}

Result<std::vector<LatencyLimit>> parse_latency_limits(std::string_view text) {
  std::vector<LatencyLimit> limits;
  while (true) {
    const std::size_t end = std::min(text.find(','), text.size());
    limits.push_back(TRY(parse_limit(text.substr(0, end))));
    if (end == text.size()) return limits;
    text.remove_prefix(end + 1);
  }
}

ServerScore score_of(const ServingResult& result, std::span<const LatencyLimit> limits) {
  ServerScore score;
  if (!result.verdict.valid()) {
    score.problem = "void: " + result.verdict.void_reasons().front();
    return score;
  }
  if (!result.verdict.late.empty()) {
    score.problem = "void: " + result.verdict.late;
    return score;
  }
  const double value = result.goodput.value_or(result.output_throughput);
  if (!(value > 0)) {
    score.problem = result.goodput ? "no request met the limits of --goodput" : "no output";
    return score;
  }
  score.value = value;
  for (const LatencyLimit& limit : limits) {
    const auto latency = value_of(result, limit);
    if (latency && *latency <= limit.seconds) continue;
    score.problem =
        fmt::format("{} {} is above {}", limit.name, latency ? format_seconds(*latency) : "unknown",
                    format_seconds(limit.seconds));
    break;
  }
  return score;
}

std::optional<std::size_t> best_of(std::span<const ServerTrial> trials) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!trials[i].score.counts()) continue;
    if (!best || *trials[i].score.value > *trials[*best].score.value) best = i;
  }
  return best;
}

ServerProof prove(std::span<const ServerPair> pairs) {
  ServerProof proof;
  proof.runs = pairs.size();
  std::vector<ScorePair> scores;
  for (const auto& [as_it_is, best] : pairs) {
    proof.kept_as_it_is += as_it_is.counts() ? 1 : 0;
    proof.kept_best += best.counts() ? 1 : 0;
    if (as_it_is.value && best.value) {
      scores.push_back({std::log(*as_it_is.value), std::log(*best.value)});
    }
  }
  proof.speed = prove(scores);
  proof.proven = proof.runs >= least_units && proof.kept_best == proof.runs &&
                 (proof.speed.better || proof.kept_as_it_is == 0);
  return proof;
}

}  // namespace assay
