#include "serving/results/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "statistics/distributions.h"
#include "statistics/summary.h"

namespace assay {
namespace {

const Metric* find(const Record& record, std::string_view name) {
  const auto at = std::find_if(record.metrics.begin(), record.metrics.end(),
                               [&](const Metric& metric) { return metric.name == name; });
  return at == record.metrics.end() ? nullptr : &*at;
}

/// Empty if a pass lacks the metric.
std::optional<Metric> mean_metric(std::span<const Record* const> passes, const Metric& first) {
  Metric metric = first;
  std::vector<double> values;
  for (const Record* pass : passes) {
    const Metric* const own = find(*pass, first.name);
    if (own == nullptr) return std::nullopt;
    values.push_back(own->value);
    if (own->better == Better::neither) metric.better = Better::neither;
    metric.is_void = metric.is_void || own->is_void;
  }
  metric.value = mean(values);
  if (values.size() < 2 || first.unit == "1") {
    if (values.size() > 1) metric.interval95.reset();  // of counts and shares there is none
    return metric;
  }
  const auto count = static_cast<double>(values.size());
  const double margin =
      student_t_quantile(0.975, count - 1) * sample_deviation(values) / std::sqrt(count);
  metric.interval95 =
      Interval{std::min(std::max(metric.value - margin, 0.0), metric.value), metric.value + margin};
  return metric;
}

/// "4893 tokens/s, mean_ttft 0.1203 s, p99_ttft 0.2 s"
std::string text_of(const Record& pass) {
  std::string text;
  for (const char* name : {"output_throughput", "mean_ttft", "p99_ttft", "mean_tpot"}) {
    if (const Metric* metric = find(pass, name)) {
      text += fmt::format("{}{} {:.4g} {}", text.empty() ? "" : ", ", name, metric->value,
                          metric->unit);
    }
  }
  if (pass.status != RecordStatus::passed) text += fmt::format("; left out: {}", pass.reason);
  return text;
}

}  // namespace

Record record_of_passes(std::span<const Record> passes) {
  if (passes.size() == 1) return passes.front();
  std::vector<const Record*> counted;
  for (const Record& pass : passes) {
    if (pass.status == RecordStatus::passed) counted.push_back(&pass);
  }
  const bool none = counted.empty();
  if (none) {
    for (const Record& pass : passes) counted.push_back(&pass);
  }
  Record record = *counted.front();
  record.metrics.clear();
  for (const Metric& metric : counted.front()->metrics) {
    if (auto all = mean_metric(counted, metric)) record.metrics.push_back(std::move(*all));
  }
  // What is void in one pass is void in the mean.
  if (find_note(record, void_note) == nullptr) {
    for (const Record* pass : counted) {
      const std::string* const reason = find_note(*pass, void_note);
      if (reason == nullptr) continue;
      record.notes.emplace_back(void_note, *reason);
      break;
    }
  }
  record.notes.emplace_back("passes", fmt::format("{}", passes.size()));
  for (std::size_t i = 0; i < passes.size(); ++i) {
    record.notes.emplace_back(fmt::format("pass {}", i + 1), text_of(passes[i]));
  }
  return record;
}

}  // namespace assay
