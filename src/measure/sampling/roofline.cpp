#include "measure/sampling/roofline.h"

#include <algorithm>

#include "compute/device/peaks.h"

namespace assay {

std::optional<Roof> roof_of(const DeviceFacts& facts, Limit limit, DataType math) {
  if (facts.emulated) return std::nullopt;  // an emulator's rate says nothing about the chip's peak
  std::optional<PeakRate> peak;
  switch (limit) {
    case Limit::none:
      break;
    case Limit::memory:
      peak = peak_memory_bandwidth(facts);
      break;
    case Limit::compute:
      peak = peak_compute_rate(facts, math);
      break;
    case Limit::host_link:
      peak = peak_host_link_bandwidth(facts);
      break;
    case Limit::peer_link:
      peak = peak_peer_link_bandwidth(facts);
      break;
  }
  if (!peak) return std::nullopt;
  return Roof{peak->rate, peak->source};
}

std::optional<double> floor_seconds(const DeviceFacts& facts, const Work& work, Limit limit) {
  std::optional<double> floor;
  const auto raise = [&](const std::optional<Roof>& roof, double amount) {
    if (roof && amount > 0) floor = std::max(floor.value_or(0), amount / roof->rate);
  };
  const bool is_link = limit == Limit::host_link || limit == Limit::peer_link;
  raise(roof_of(facts, is_link ? limit : Limit::memory, work.math), work.bytes / work.links);
  raise(roof_of(facts, Limit::compute, work.math), work.flops);
  if (!floor || limit == Limit::none) return std::nullopt;
  return *floor / work.repetitions;
}

}  // namespace assay
