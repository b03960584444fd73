#include "results/record/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "core/text.h"

namespace assay {
namespace {

constexpr double seconds_per_hour = 3600;

/// Parses the whole text as a number above 0.
std::optional<double> positive(std::string_view text) {
  const auto number = parse_number(text);
  return number && *number > 0 ? number : std::nullopt;
}

const Metric* find_metric(const Record& record, std::string_view name) {
  const auto found = std::ranges::find(record.metrics, name, &Metric::name);
  return found == record.metrics.end() || found->is_void ? nullptr : &*found;
}

/// How long the training run took that the record is about; empty if unknown or no training.
std::optional<double> seconds_of_run(const Record& record) {
  if (const Metric* whole = find_metric(record, "time_to_quality")) return whole->value;
  const auto steps = positive(record.cell.text("steps"));
  const Metric* step = find_metric(record, "step_time");
  if (!steps || step == nullptr) return std::nullopt;
  return *steps * step->value;
}

}  // namespace

Result<Price> parse_price(std::string_view text) {
  const std::size_t by = text.find('x');
  const auto price = positive(text.substr(0, by));
  const auto devices = by == std::string_view::npos ? 1 : positive(text.substr(by + 1));
  if (!price || !devices || *devices != std::floor(*devices)) {
    return Error{ErrorKind::usage,
                 fmt::format("--price \"{}\" is not allowed; allowed: a number above 0 per GPU and "
                             "hour, e.g. 2.50, or 2.50x8 for a server with 8 GPUs",
                             text)};
  }
  return Price{*price, *devices};
}

double cost_per_million_tokens(double price_per_hour, double devices, double tokens_per_second) {
  return price_per_hour * devices / seconds_per_hour / tokens_per_second * 1e6;
}

std::string_view cost_of_rate(std::string_view metric) {
  if (metric == "token_rate") return "cost_per_million_tokens";
  if (metric == "output_throughput") return "cost_per_million_output_tokens";
  return {};
}

double devices_of(const std::vector<std::pair<std::string, std::string>>& axes,
                  const Price& price) {
  for (const auto& [axis, value] : axes) {
    if (axis != "ranks" && axis != "tp" && axis != "tensor_parallel_size") continue;
    if (const auto devices = positive(value)) return *devices;
  }
  return price.devices;
}

std::vector<Metric> costs_of(const Record& record, const Price& price) {
  std::vector<Metric> costs;
  if (record.status != RecordStatus::passed) return costs;
  const double devices = record.ranks.empty() ? devices_of(record.cell.values(), price)
                                              : static_cast<double>(record.ranks.size());
  const auto add = [&](std::string_view name, double value) {
    costs.push_back({std::string(name), value, "$", Better::neither, {}});
  };
  const auto add_rate = [&](std::string_view metric, double rate) {
    if (rate > 0) add(cost_of_rate(metric), cost_per_million_tokens(price.per_hour, devices, rate));
  };
  if (record.value && record.value->quantity == Quantity::token_rate) {
    add_rate("token_rate", record.value->median);
  } else {
    for (const char* name : {"token_rate", "output_throughput"}) {
      if (const Metric* metric = find_metric(record, name)) add_rate(name, metric->value);
    }
  }
  if (const auto seconds = seconds_of_run(record)) {
    add("cost_of_run", price.per_hour * devices * *seconds / seconds_per_hour);
  }
  return costs;
}

void add_costs(Record& record, const std::optional<Price>& price) {
  if (!price) return;
  std::vector<Metric> costs = costs_of(record, *price);
  const auto behind = record.metrics.empty() ? record.metrics.begin() : record.metrics.begin() + 1;
  record.metrics.insert(behind, std::make_move_iterator(costs.begin()),
                        std::make_move_iterator(costs.end()));
}

}  // namespace assay
