#include "measure/benchmarks/train/train_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "core/units.h"
#include "measure/benchmarks/train/exchange_cost.h"

namespace assay {
namespace {

std::string way_of(const Cell& cell) {
  return fmt::format("model={} parallel={} scaling={} ranks={}", cell.text("model"),
                     cell.text("parallel"), cell.text("scaling"), cell.text("ranks"));
}

std::string percent(double share) {
  return fmt::format("{:.1f}%", share * 100);
}

/// Text about the shares of a step that are lost to perfect scaling, with the reasons.
std::string losses_text(const CellValue& value, double efficiency) {
  const auto step = value.metric("step_time"), exposed = value.metric("exchange_exposed");
  const auto alone = value.metric("exchange_alone"),
             bandwidth = value.metric("exchange_bus_bandwidth"), skew = value.metric("rank_skew");
  if (!step || !exposed || !alone || !bandwidth || !skew || *step <= 0) return "";
  const double waiting = *exposed / *step;
  std::string text = fmt::format(
      "; exposed communication takes {} of a step, slower forward and backward passes {}; the "
      "communication alone takes {}, at {} of bus bandwidth; the slowest rank is {} behind the "
      "fastest",
      percent(waiting), percent(1 - efficiency - waiting), format_seconds(*alone),
      format_rate(*bandwidth, "B/s"), percent(*skew));
  const auto lowest = value.metric("rank_clock_lowest"),
             highest = value.metric("rank_clock_highest");
  if (lowest && highest) {
    text += fmt::format(", clocks {} to {}", format_frequency(*lowest), format_frequency(*highest));
  }
  return text;
}

/// Text about the slowdown factors of compute and communication in the simulation.
std::string overlap_text(const CellValue& value) {
  const auto passes = value.metric("passes_slowed_by_exchange"),
             exchange = value.metric("exchange_slowed_by_passes");
  if (!passes || !exchange) return "";
  return fmt::format(
      ", if passes take {:.2f} times as long during communication, and communication {:.2f} times "
      "as long during passes",
      *passes, *exchange);
}

/// The simulated efficiency of the same passes on more ranks; empty if nothing was simulated.
std::optional<Conclusion> simulated_conclusion(const CellValue& value, const CellValue& one,
                                               const std::string& way) {
  const std::uint64_t ranks = value.cell.integer("ranks");
  const auto simulated = [&](std::uint64_t number) {
    return value.metric(fmt::format("simulated_step_time_{}_ranks", number));
  };
  const auto step = value.metric("step_time"), alone = one.metric("step_time");
  const auto here = simulated(ranks);
  if (!step || !alone || !here || value.cell.text("scaling") != "weak") return std::nullopt;
  const double error = *here / *step - 1;
  std::vector<std::string> shares;
  for (const int number : predicted_ranks) {
    const auto seconds = simulated(static_cast<std::uint64_t>(number));
    if (seconds && static_cast<std::uint64_t>(number) > ranks) {
      shares.push_back(fmt::format("{} on {}", percent(*alone / *seconds), number));
    }
  }
  return Conclusion{
      "simulation_error " + way, error, "1",
      fmt::format("{}: a simulation of these steps takes {} {}{}; with the same links, its "
                  "efficiency is {} ranks (a model, not measured)",
                  way, percent(std::abs(error)), error < 0 ? "less" : "more", overlap_text(value),
                  fmt::join(shares, ", "))};
}

Conclusion scaling_conclusion(const CellValue& value, const CellValue& one,
                              const std::string& way) {
  const double ranks = static_cast<double>(value.cell.integer("ranks"));
  const double efficiency = value.value / (ranks * one.value);
  // The lowest and highest efficiency that the two intervals allow.
  const double low = value.interval95.low / (ranks * one.interval95.high);
  const double high = value.interval95.high / (ranks * one.interval95.low);
  return {"efficiency " + way, efficiency, "1",
          fmt::format("{}: efficiency {} ({} to {}) on {} ranks{}", way, percent(efficiency),
                      percent(low), percent(high), value.cell.text("ranks"),
                      losses_text(value, efficiency))};
}

/// How much longer a step is than that of the same number of ranks that train alone at the same
/// time. Only for ddp, because only there each rank updates all parameters, as ranks that train
/// alone do.
std::optional<Conclusion> exchange_conclusion(const CellValue& value, const CellValue& without,
                                              const std::string& way) {
  if (value.cell.text("parallel") != "ddp") return std::nullopt;
  const auto step = value.metric("step_time"), exposed = value.metric("exchange_exposed"),
             alone = without.metric("step_time");
  if (!step || !exposed || !alone) return std::nullopt;
  const double longer = *step - *alone;
  return Conclusion{
      "exchange_costs " + way, longer, "s",
      fmt::format("{}: a step takes {} {} than without communication; measured in another way, {} "
                  "of communication are exposed",
                  way, format_seconds(std::abs(longer)), longer < 0 ? "less" : "longer",
                  format_seconds(*exposed))};
}

}  // namespace

bool trains_the_same(std::span<const std::pair<std::string, std::string>> a,
                     std::span<const std::pair<std::string, std::string>> b) {
  constexpr std::string_view of_ranks[] = {"ranks", "scaling", "parallel",
                                           "sums",  "library", "bucket"};
  return std::ranges::all_of(a, [&](const auto& value) {
    return std::ranges::count(of_ranks, value.first) > 0 || std::ranges::count(b, value) > 0;
  });
}

std::vector<Conclusion> scaling_conclusions(std::span<const CellValue> values) {
  std::vector<Conclusion> conclusions;
  for (const CellValue& value : values) {
    if (value.cell.integer("ranks") < 2) continue;
    const std::string way = way_of(value.cell);
    for (const CellValue& one : values) {
      if (!trains_the_same(value.cell.values(), one.cell.values())) continue;
      if (one.cell.text("parallel") == "none" &&
          one.cell.text("ranks") == value.cell.text("ranks") &&
          one.cell.text("scaling") == value.cell.text("scaling")) {
        auto costs = exchange_conclusion(value, one, way);
        if (costs) conclusions.push_back(*std::move(costs));
      }
      if (one.cell.integer("ranks") != 1 || one.value <= 0) continue;
      conclusions.push_back(scaling_conclusion(value, one, way));
      auto simulated = simulated_conclusion(value, one, way);
      if (simulated) conclusions.push_back(*std::move(simulated));
    }
  }
  return conclusions;
}

}  // namespace assay
