#include "advise/health/sdc_verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay::health {
namespace {

/// Why the units do not allow SOUND; empty: they do.
std::string doubt_of(std::span<const std::vector<SdcUnit>> ranks) {
  std::string untested;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t i = 0; i < ranks[r].size(); ++i) {
      const SdcUnit& unit = ranks[r][i];
      const std::string where =
          ranks.size() > 1 ? fmt::format("{} on rank {}", unit.name, r) : unit.name;
      if (unit.refused) return fmt::format("{} is refused: {}", where, unit.left_out);
      const bool counts = ranks.front()[i].left_out.empty();
      if (!unit.left_out.empty() && counts && untested.empty()) {
        untested = fmt::format("{} was not tested: {}", where, unit.left_out);
      }
      if (unit.left_out.empty() && unit.runs <= unit.calibration && untested.empty()) {
        untested = "stopped before every unit had run";
      }
    }
  }
  return untested;
}

/// A fault sits on one device, so the device that did least limits what would have been seen.
void set_rates(SdcOutcome& all) {
  if (all.coverage.empty()) return;
  const auto least = [&](auto member) {
    return std::ranges::min(all.coverage, {}, member).*member;
  };
  constexpr double of_95_percent = 3, hour = 3600, peta = 1e15;
  const double seconds = least(&SdcCoverage::seconds), flops = least(&SdcCoverage::flops),
               bytes = least(&SdcCoverage::bytes);
  if (seconds > 0) all.faults_per_device_hour = of_95_percent * hour / seconds;
  if (flops > 0) all.faults_per_1e15_flops = of_95_percent * peta / flops;
  if (bytes > 0) all.faults_per_1e15_bytes = of_95_percent * peta / bytes;
}

}  // namespace

std::string_view name_of(SdcVerdict verdict) {
  switch (verdict) {
    case SdcVerdict::sound:
      return "SOUND";
    case SdcVerdict::corrupt:
      return "CORRUPT";
    case SdcVerdict::unknown:
      break;
  }
  return "UNKNOWN";
}

void add_rank(std::vector<SdcUnit>& all, std::span<const SdcUnit> of_rank) {
  for (std::size_t i = 0; i < all.size() && i < of_rank.size(); ++i) {
    all[i].runs += of_rank[i].runs;
    all[i].seconds += of_rank[i].seconds;
    all[i].flops += of_rank[i].flops;
    all[i].bytes += of_rank[i].bytes;
    all[i].checked_bytes += of_rank[i].checked_bytes;
    all[i].planted += of_rank[i].planted;
  }
}

void decide(SdcOutcome& all, std::span<const std::vector<SdcUnit>> ranks,
            const std::string& team_error, const std::string& doubt) {
  std::uint64_t runs = 0;
  std::size_t tested = 0;
  for (const SdcUnit& unit : all.units) {
    all.planted += unit.planted;
    if (!unit.left_out.empty()) continue;
    all.tested_seconds += unit.seconds;
    all.flops += unit.flops;
    all.bytes += unit.bytes;
    runs += unit.runs;
    if (unit.runs > 0) ++tested;
  }
  if (all.difference_count > 0) {
    all.verdict = SdcVerdict::corrupt;
    all.why =
        fmt::format("{} of {} repetitions differ from what they should be{}", all.difference_count,
                    runs, team_error.empty() ? "" : "; then " + team_error);
    return;
  }
  all.why = !team_error.empty() ? team_error : !doubt.empty() ? doubt : doubt_of(ranks);
  if (all.why.empty() && tested == 0) all.why = "no unit could be compared with anything";
  if (!all.why.empty()) return;
  all.verdict = SdcVerdict::sound;
  all.why = fmt::format("{} repetitions of {} units gave the same bits", runs, tested);
  set_rates(all);
}

}  // namespace assay::health
