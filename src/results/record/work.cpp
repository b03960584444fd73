#include "results/record/work.h"

namespace assay {

std::string_view name_of(TimeSource source) {
  switch (source) {
    case TimeSource::device_events:
      return "device_events";
    case TimeSource::host_clock:
      return "host_clock";
    case TimeSource::enqueue_only:
      return "enqueue_only";
  }
  return "";
}

std::string_view name_of(CacheState state) {
  return state == CacheState::hot ? "hot" : "cold";
}

std::string_view name_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::bandwidth:
      return "bandwidth";
    case Quantity::flop_rate:
      return "flop_rate";
    case Quantity::latency:
      return "latency";
    case Quantity::token_rate:
      return "token_rate";
    case Quantity::sample_rate:
      return "sample_rate";
  }
  return "";
}

std::string_view unit_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::bandwidth:
      return "bytes/s";
    case Quantity::flop_rate:
      return "FLOP/s";
    case Quantity::token_rate:
      return "tokens/s";
    case Quantity::sample_rate:
      return "samples/s";
    case Quantity::latency:
      break;
  }
  return "s";
}

}  // namespace assay
