#include "advise/health/sdc_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "advise/health/sdc_json.h"
#include "advise/health/sdc_ranks.h"
#include "core/json.h"
#include "core/json_text.h"

namespace assay::health {
namespace {

/// Buffers that any rank leaves out of each unit.
using ScratchOfAny = std::vector<std::vector<std::size_t>>;

Error other_units() {
  return {ErrorKind::failed, "the ranks do not test the same units"};
}

/// What differs between repetitions on most devices is scratch memory on all. What does on any is
/// not compared between them.
Result<ScratchOfAny> share_scratch(std::span<UnderTest> units, Team& team) {
  Json mine = Json::array();
  for (const UnderTest& unit : units) mine.push_back(with_trail(unit.report));
  std::vector<std::vector<SdcUnit>> ranks;
  for (const std::string& text : TRY(team.exchange("comparing scratch", json_line(mine)))) {
    const Json json = TRY(parse_json(text));
    std::vector<SdcUnit>& of_rank = ranks.emplace_back();
    for (const Json& unit : json) of_rank.push_back(TRY(unit_from(unit)));
    if (of_rank.size() != units.size()) return other_units();
  }
  ScratchOfAny of_any(units.size());
  for (std::size_t i = 0; i < units.size(); ++i) {
    UnderTest& unit = units[i];
    if (!unit.work) continue;
    std::size_t alike = 0;
    std::map<std::size_t, std::size_t> says;  // how many ranks leave a buffer out
    for (const auto& of_rank : ranks) {
      if (of_rank[i].variant != unit.report.variant || of_rank[i].trail.empty()) continue;
      ++alike;
      for (const std::size_t number : of_rank[i].scratch) ++says[number];
    }
    std::vector<std::size_t> of_most;
    for (const auto& [number, count] : says) {
      of_any[i].push_back(number);
      if (2 * count > alike) of_most.push_back(number);
    }
    unit.work->leave_out(of_most);
    unit.report.scratch = unit.work->scratch();
    unit.report.trail = unit.work->trail(unit.expected);
  }
  return of_any;
}

Result<std::vector<RankUnits>> units_of_ranks(std::span<UnderTest> units, const ScratchOfAny& any,
                                              const std::string& kind, Team& team) {
  Json mine = {{"kind", kind}, {"units", Json::array()}};
  for (std::size_t i = 0; i < units.size(); ++i) {
    SdcUnit compared = units[i].report;
    if (units[i].work) compared.trail = units[i].work->trail(units[i].expected, any[i]);
    Json json = with_trail(compared);
    json["run_seconds"] = units[i].run_seconds;
    mine["units"].push_back(std::move(json));
  }
  std::vector<RankUnits> ranks;
  for (const std::string& text : TRY(team.exchange("comparing checksums", json_line(mine)))) {
    const Json json = TRY(parse_json(text));
    RankUnits rank;
    rank.kind = json.value("kind", "");
    rank.name = name_of(team.members()[ranks.size()]);
    for (const Json& unit : json["units"]) {
      rank.units.push_back(TRY(unit_from(unit)));
      rank.run_seconds.push_back(unit.value("run_seconds", 0.0));
    }
    if (rank.units.size() != units.size()) return other_units();
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

/// Why a unit cannot be compared with what a reference knows of it; empty: it can.
std::string not_comparable(const UnderTest& unit, const SdcUnit& known) {
  if (known.variant != unit.report.variant) {
    return "the reference was made with other operations or algorithms";
  }
  if (known.trail.size() != unit.report.trail.size()) {
    return "the reference has checksums of another number of operations";
  }
  const bool knows_all = std::ranges::all_of(unit.report.scratch, [&](std::size_t number) {
    return std::ranges::count(known.scratch, number) > 0;
  });
  if (!knows_all) return "more of its memory differs between repetitions than in the reference";
  if (!unit.work->compares_most(known.scratch)) {
    return "the reference leaves out most of its memory";
  }
  return "";
}

}  // namespace

Result<SdcComparison> compare_with_ranks(std::span<UnderTest> units, const std::string& kind,
                                         Team& team) {
  const ScratchOfAny any = TRY(share_scratch(units, team));
  const std::vector<RankUnits> ranks = TRY(units_of_ranks(units, any, kind, team));
  SdcComparison comparison;
  for (std::size_t i = 0; i < units.size(); ++i) {
    units[i].run_seconds = ranks.front().run_seconds[i];
    // The result of a collective is another one on each rank, and its own repetitions show it.
    if (units[i].description.of_team) continue;
    RankJudgement judged = judge_ranks(ranks, i);
    for (const std::vector<std::size_t>& members : judged.compared) {
      if (std::ranges::count(members, static_cast<std::size_t>(team.rank())) == 0) continue;
      units[i].report.compared.push_back(fmt::format("{} ranks", members.size()));
    }
    if (team.rank() != 0) continue;
    if (!judged.unsettled.empty()) comparison.unsettled = std::move(judged.unsettled);
    std::ranges::move(judged.differences, std::back_inserter(comparison.differences));
  }
  return comparison;
}

SdcComparison compare_with_reference(
    std::span<UnderTest> units, const SdcReference& reference,
    const std::function<SdcDifference(const UnderTest&)>& difference_here) {
  SdcComparison comparison;
  for (UnderTest& unit : units) {
    const auto known = std::ranges::find(reference.units, unit.report.name, &SdcUnit::name);
    if (known == reference.units.end() || unit.report.variant.empty()) continue;
    if (!unit.work) continue;
    if (const std::string choice = other_choice(unit.report, *known); !choice.empty()) {
      comparison.unsettled =
          unit.report.name +
          " could not take over a choice of the reference, and another one gives "
          "other bits: " +
          choice;
      continue;
    }
    std::string other = not_comparable(unit, *known);
    if (!other.empty()) {
      unit.report.note = std::move(other);
      continue;
    }
    unit.report.compared.emplace_back("the reference");
    const std::vector<std::uint64_t> trail = unit.work->trail(unit.expected, known->scratch);
    if (known->trail == trail) continue;
    if (unit.report.calls_library) {
      comparison.unsettled = unit.report.name +
                             " repeats its bits, which are not those of the reference: the "
                             "library's algorithms were chosen by measuring on each, so this "
                             "proves no fault";
      continue;
    }
    SdcDifference difference = difference_here(unit);
    difference.against = "the reference";
    name_first_operation(difference, trail, known->trail, unit.report.operations);
    comparison.differences.push_back(std::move(difference));
  }
  return comparison;
}

}  // namespace assay::health
