#include "judge/compare/validity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

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

}  // namespace

std::optional<std::string> fault_of(const Record& record) {
  if (record.status == RecordStatus::failed) return "failed: " + record.reason;
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
