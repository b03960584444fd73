#include "advise/tune/server_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "advise/tune/parameter.h"
#include "core/units.h"

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

std::optional<double> metric_of(const Record& record, std::string_view name) {
  for (const Metric& metric : record.metrics) {
    if (metric.name == name) return metric.value;
  }
  return std::nullopt;
}

/// Why the results of a load do not count; empty if they do.
std::string void_reason(const Record& record) {
  if (record.status != RecordStatus::passed) {
    return record.source ? "void: " + record.reason : record.reason;
  }
  for (const auto& [name, text] : record.notes) {
    if (name == "void") return "void: " + text;
  }
  return "";
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
    if (!which.starts_with('p')) return wrong_limit(text);
    double percent = 0;
    const auto [end, error] =
        std::from_chars(which.data() + 1, which.data() + which.size(), percent);
    if (error != std::errc() || end != which.data() + which.size() || !(percent > 0) ||
        !(percent < 100)) {
      return wrong_limit(text);
    }
    limit.percent = percent;
  }
  constexpr std::string_view names[] = {"ttft", "tpot", "itl", "e2el"};
  if (std::count(std::begin(names), std::end(names), of) == 0) return wrong_limit(text);
  return limit;
}

}  // namespace

std::vector<std::string> with_parameters(std::vector<std::string> words, const Settings& settings) {
  for (const Setting& setting : settings) {
    if (!names_variable(setting.variable)) set_parameter(words, setting);
  }
  return words;
}

std::string LatencyLimit::metric() const {
  const std::string latency = name.substr(name.find('_'));
  if (!percent) return "mean" + latency;
  if (percent == 50) return "median" + latency;
  std::string number = fmt::format("p{}", *percent);
  std::replace(number.begin(), number.end(), '.', '_');
  return number + latency;
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

TrialScore score_of(const Record& record, std::span<const LatencyLimit> limits) {
  TrialScore score;
  score.problem = void_reason(record);
  if (!score.problem.empty()) return score;
  const auto goodput = metric_of(record, "request_goodput");
  const double speed = goodput.value_or(metric_of(record, "output_throughput").value_or(0));
  if (!(speed > 0)) {
    score.problem = goodput ? "no request met the limits of --goodput" : "no output";
    return score;
  }
  score.score = std::log(speed);
  for (const LatencyLimit& limit : limits) {
    const auto latency = metric_of(record, limit.metric());
    if (latency && *latency <= limit.seconds) continue;
    score.problem =
        fmt::format("{} {} is above {}", limit.name, latency ? format_seconds(*latency) : "unknown",
                    format_seconds(limit.seconds));
    break;
  }
  return score;
}

}  // namespace assay
