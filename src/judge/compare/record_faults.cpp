#include "judge/compare/record_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "measure/sampling/derive_value.h"
#include "results/record/measured_unit.h"
#include "statistics/summary.h"

namespace assay {
namespace {

/// A higher share of a roof is a measurement error, not a good machine: roofs assume boost clocks,
/// and clocks are read to within a percent.
constexpr double most_share = 1.02;
/// Servers that decide themselves when to stop generate slightly different numbers of tokens each
/// time.
constexpr double token_tolerance = 0.05;

const Metric* metric(const Record& record, std::string_view name) {
  const auto at = std::find_if(record.metrics.begin(), record.metrics.end(),
                               [&](const Metric& candidate) { return candidate.name == name; });
  return at == record.metrics.end() ? nullptr : &*at;
}

/// Small operands may come from caches, whose rates the memory roof does not bound.
bool roof_applies(const Record& record) {
  if (record.value->quantity != Quantity::bandwidth || !record.work) return true;
  const double operand_bytes = record.work->bytes / std::max(1.0, record.work->repetitions);
  return operand_bytes >= 8 * static_cast<double>(record.device.last_level_cache_bytes);
}

/// Of assay's own results; only the program that measured could have verified another's.
std::optional<std::string> unverified(const Record& record) {
  if (record.source || record.status != RecordStatus::passed) return std::nullopt;
  if (!record.verification) return "its result was not verified";
  if (record.verification->passed) return std::nullopt;
  return fmt::format("its verification failed: {}", record.verification->detail.empty()
                                                        ? record.verification->method
                                                        : record.verification->detail);
}

/// The unit in which a metric of this name is stored; empty: its name says nothing of it.
std::string_view unit_named_by(std::string_view metric) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> by_end = {
      {{"bandwidth", "bytes/s"},
       {"busbw", "bytes/s"},
       {"algbw", "bytes/s"},
       {"_ttft", "s"},
       {"_tpot", "s"},
       {"_itl", "s"},
       {"_e2el", "s"}}};
  for (const auto& [end, unit] : by_end) {
    if (metric.ends_with(end)) return unit;
  }
  return {};
}

/// Numbers are stored in SI units, so what is in others was not written by assay and would be taken
/// for something else.
std::optional<std::string> wrong_unit(const Record& record) {
  if (record.value && !record.value->unit.empty() &&
      record.value->unit != unit_of(record.value->quantity)) {
    return fmt::format("its {} is in {}, not in {}", name_of(record.value->quantity),
                       record.value->unit, unit_of(record.value->quantity));
  }
  for (const Metric& metric : record.metrics) {
    if (metric.better == Better::neither) continue;
    std::string_view wanted = unit_named_by(metric.name);
    const auto known = measured_unit(metric.unit);
    if (wanted.empty() && known && known->factor != 1) wanted = known->si;
    if (wanted.empty() || metric.unit == wanted) continue;
    return fmt::format("its {} is in {}, not in {}", metric.name,
                       metric.unit.empty() ? "no unit" : metric.unit, wanted);
  }
  return std::nullopt;
}

/// Whether two numbers are the same but for what is lost in writing them as text.
bool are_same(double a, double b) {
  constexpr double rounding = 1e-6;
  return std::abs(a - b) <= rounding * std::max(std::abs(a), std::abs(b));
}

/// The value follows from the samples and the work, and their summary from the samples.
std::optional<std::string> contradiction(const Record& record) {
  Summary summary = record.seconds.value_or(Summary());
  if (record.samples && !record.samples->samples.empty()) {
    std::vector<double> seconds;
    for (const Sample& sample : record.samples->samples) seconds.push_back(sample.seconds);
    summary.median = median(std::move(seconds));
    if (record.seconds && !are_same(summary.median, record.seconds->median)) {
      return fmt::format("its median is {} s, but that of its samples is {} s",
                         record.seconds->median, summary.median);
    }
  }
  if (!record.value || !record.work) return std::nullopt;
  const Quantity quantity = record.value->quantity;
  const double due = value_of(summary, *record.work, quantity, Limit::none, record.device).median;
  const bool is_known = std::isfinite(due) && due > 0;
  if (!is_known || are_same(due, record.value->median)) return std::nullopt;
  return fmt::format("its {} is {} {}, but its samples give {}", name_of(quantity),
                     record.value->median, unit_of(quantity), due);
}

}  // namespace

std::optional<std::string> fault_of(const Record& record) {
  if (record.status == RecordStatus::failed) return "failed: " + record.reason;
  if (auto fault = unverified(record)) return fault;
  if (auto fault = wrong_unit(record)) return fault;
  if (auto fault = contradiction(record)) return fault;
  if (record.value && record.value->share && *record.value->share > most_share &&
      record.value->quantity != Quantity::latency && roof_applies(record)) {
    return fmt::format("{:.0f}% of the roofline: more than the hardware can do",
                       100 * *record.value->share);
  }
  const Metric* failed = metric(record, "failed");
  if (failed != nullptr && failed->value > 0) {
    return fmt::format("{:.0f} requests failed", failed->value);
  }
  const Metric* empty = metric(record, "empty_replies");
  if (empty != nullptr && empty->value > 0) {
    return fmt::format("{:.0f} replies are empty and count as successes", empty->value);
  }
  return std::nullopt;
}

std::vector<Amount> amounts_of(const Record& record) {
  std::vector<Amount> amounts;
  if (record.work) {
    const double repetitions = std::max(1.0, record.work->repetitions);
    if (record.work->bytes > 0) amounts.push_back({"bytes", record.work->bytes / repetitions, 0});
    if (record.work->flops > 0) {
      amounts.push_back({"operations", record.work->flops / repetitions, 0});
    }
  }
  for (const char* name : {"total_input_tokens", "total_output_tokens"}) {
    if (const Metric* found = metric(record, name)) {
      amounts.push_back({name, found->value, token_tolerance});
    }
  }
  return amounts;
}

std::optional<std::string> unequal_work(const std::vector<Amount>& a,
                                        const std::vector<Amount>& b) {
  for (const Amount& one : a) {
    const auto other = std::find_if(
        b.begin(), b.end(), [&](const Amount& candidate) { return candidate.name == one.name; });
    if (other == b.end()) continue;
    const double larger = std::max(std::abs(one.value), std::abs(other->value));
    if (std::abs(one.value - other->value) > one.tolerance * larger) {
      return fmt::format("unequal work: {} of A against {} of B in {}", one.value, other->value,
                         one.name);
    }
  }
  return std::nullopt;
}

}  // namespace assay
