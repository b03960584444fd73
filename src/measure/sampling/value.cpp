#include "measure/sampling/value.h"

#include <fmt/format.h>

#include "measure/sampling/roofline.h"

namespace assay {

Value value_of(const Summary& seconds, const Work& work, Quantity quantity, Limit limit,
               const DeviceFacts& facts) {
  Value value;
  value.quantity = quantity;
  value.roof = roof_of(facts, limit, work.math);
  if (value.roof && work.links != 1) {
    value.roof->rate *= work.links;
    value.roof->source += fmt::format(" x {:.3g}", work.links);
  }
  if (quantity == Quantity::latency) {
    value.median = seconds.median;
    value.interval95 = seconds.interval95;
    if (const auto floor = floor_seconds(facts, work, limit)) value.share = *floor / value.median;
    return value;
  }
  const bool counts_tokens = quantity == Quantity::token_rate;
  const double of_all = counts_tokens                     ? work.tokens
                        : quantity == Quantity::bandwidth ? work.bytes
                                                          : work.flops;
  const double amount = of_all / work.repetitions;
  value.median = amount / seconds.median;
  value.interval95 = {amount / seconds.interval95.high, amount / seconds.interval95.low};
  if (counts_tokens) {  // no roof is in their unit
    value.roof.reset();
    if (const auto floor = floor_seconds(facts, work, limit)) {
      value.share = *floor / seconds.median;
    }
  } else if (value.roof) {
    value.share = value.median / value.roof->rate;
  }
  return value;
}

}  // namespace assay
