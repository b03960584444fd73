// What tokens and training runs cost at a price per device and hour. Costs are computed where
// results are shown, and never stored.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "results/record/metric.h"
#include "results/record/record.h"

namespace assay {

struct Price {
  double per_hour = 0;  ///< of one device, in any currency, which is shown as "$"
  double devices = 1;   ///< number of devices, for results that do not say how many they used
};

/// Parses the value of --price: "2.50", or "2.50x8" for servers with eight devices. Error: usage.
Result<Price> parse_price(std::string_view text);

/// Returns the cost of a million tokens on `devices` devices that make `tokens_per_second`, above
/// 0, together.
double cost_per_million_tokens(double price_per_hour, double devices, double tokens_per_second);

/// Returns the name of the cost that follows from a rate: "cost_per_million_tokens" for
/// "token_rate", "cost_per_million_output_tokens" for "output_throughput"; empty for other metrics.
std::string_view cost_of_rate(std::string_view metric);

/// Returns the value of the first axis that is "ranks", "tp" or "tensor_parallel_size" and has a
/// number above 0; price.devices if there is none.
double devices_of(const std::vector<std::pair<std::string, std::string>>& axes, const Price& price);

/// Returns costs in "$" that follow from a passed record, on as many devices as it has ranks, or as
/// devices_of() finds: of a million tokens, if it has a rate of tokens, and of a training run
/// ("cost_of_run"), from its metric "time_to_quality", or its axis "steps" and metric "step_time".
/// Void metrics do not count.
std::vector<Metric> costs_of(const Record& record, const Price& price);

/// Adds costs_of() to the record's metrics, behind the first one, which is the headline of another
/// program's results. Does nothing without a price.
void add_costs(Record& record, const std::optional<Price>& price);

}  // namespace assay
