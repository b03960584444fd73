// What tokens and training runs cost at a price per device and hour. Pure functions; costs are
// computed where results are shown, and never stored.
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
  double devices = 1;   ///< of results that do not say how many devices they used
};

/// Parses "2.50", or "2.50x8" for servers with eight devices. Error: usage.
Result<Price> parse_price(std::string_view text);

/// Cost of a million tokens on `devices` that make `tokens_per_second` together.
double cost_per_million_tokens(double price_per_hour, double devices, double tokens_per_second);

/// The name of the cost that follows from a rate: "cost_per_million_tokens" for "token_rate",
/// "cost_per_million_output_tokens" for "output_throughput"; empty for other metrics.
std::string_view cost_of_rate(std::string_view metric);

/// The number of devices that axes name, as ranks or tp; price.devices if they name none.
double devices_of(const std::vector<std::pair<std::string, std::string>>& axes, const Price& price);

/// Costs in "$" that follow from a passed record: of a million tokens, and, if its steps are
/// known or it trained to a target, of the training run.
std::vector<Metric> costs_of(const Record& record, const Price& price);

/// Adds costs_of() to the record's metrics, behind the first one. Does nothing without a price.
void add_costs(Record& record, const std::optional<Price>& price);

}  // namespace assay
