#include "measure/sampling/derive_value.h"

#include <fmt/format.h>

#include "measure/sampling/roofline.h"

namespace assay {
namespace {

/// The amount of work that a rate is based on.
double amount_of(const Work& work, Quantity quantity) {
  switch (quantity) {
    case Quantity::bandwidth:
      return work.bytes;
    case Quantity::token_rate:
      return work.tokens;
    case Quantity::sample_rate:
      return work.samples;
    case Quantity::flop_rate:
    case Quantity::latency:
      break;
  }
  return work.flops;
}

}  // namespace

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
  const double amount = amount_of(work, quantity) / work.repetitions;
  value.median = amount / seconds.median;
  value.interval95 = {amount / seconds.interval95.high, amount / seconds.interval95.low};
  if (quantity == Quantity::token_rate || quantity == Quantity::sample_rate) {
    // No roof is in tokens or samples per second; the share comes from the least possible time.
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
