#include "measure/sampling/sample.h"

namespace assay {

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::precision:
      return "precision";
    case StopReason::time_box:
      return "time_box";
    case StopReason::sample_limit:
      return "sample_limit";
    case StopReason::interrupted:
      return "interrupted";
    case StopReason::warm:
      return "warm";
    case StopReason::not_run:
      return "not_run";
  }
  return "";
}

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

}  // namespace assay
