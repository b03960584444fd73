#include "advise/health/sdc_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace assay::health {
namespace {

using Members = std::vector<std::size_t>;

class UnitJudge {
 public:
  UnitJudge(std::span<const RankUnits> ranks, std::size_t unit) : ranks_(ranks), unit_(unit) {}

  RankJudgement judge() {
    std::map<std::string, Members> of_kind, alike;  // alike: also the variant
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      of_kind[ranks_[r].kind].push_back(r);
      if (was_tested(r)) alike[ranks_[r].kind + " " + at(r).variant].push_back(r);
    }
    for (const auto& [kind, members] : of_kind) judge_refusals(members);
    for (const auto& [key, members] : alike) compare(members);
    return std::move(judgement_);
  }

 private:
  const SdcUnit& at(std::size_t rank) const { return ranks_[rank].units[unit_]; }
  bool was_tested(std::size_t rank) const {
    return !at(rank).trail.empty() && at(rank).left_out.empty();
  }

  SdcDifference difference_of(const Members& wrong, std::string against) const {
    SdcDifference difference;
    difference.unit = at(wrong.front()).name;
    difference.rank = wrong.size() == 1 ? static_cast<int>(wrong.front()) : -1;
    difference.device = wrong.size() == 1 ? "" : "one of ";
    for (const std::size_t r : wrong) {
      difference.device +=
          fmt::format("{}{} of {}", r == wrong.front() ? "" : ", ", ranks_[r].kind, ranks_[r].name);
    }
    difference.against = std::move(against);
    return difference;
  }

  void judge_refusals(const Members& members) {
    Members refused;
    std::size_t passed = 0, vary = 0;
    for (const std::size_t r : members) {
      if (at(r).refused) refused.push_back(r);
      if (at(r).varies) ++vary;
      if (was_tested(r)) ++passed;
    }
    if (vary > 0 && passed > 0) {
      judgement_.unsettled =
          at(members.front()).name +
          " repeats its results on some devices only, by a library: see the units";
    }
    if (passed <= refused.size()) return;
    for (const std::size_t r : refused) {
      SdcDifference difference = difference_of(
          {r},
          fmt::format("{} of {} devices of its kind: {}", passed, members.size(), at(r).left_out));
      difference.operation = "its own check or its repetitions";
      judgement_.differences.push_back(std::move(difference));
    }
  }

  /// All members have tested the unit and did the same.
  void compare(const Members& members) {
    if (members.size() < 2) return;
    judgement_.compared.push_back(members);
    std::map<std::vector<std::uint64_t>, Members> groups;
    for (const std::size_t r : members) groups[at(r).trail].push_back(r);
    if (groups.size() < 2) return;
    if (std::ranges::any_of(members, [&](std::size_t r) { return at(r).calls_library; })) {
      SdcDifference first;
      name_first_operation(first, groups.begin()->first, groups.rbegin()->first,
                           at(members.front()).operations);
      judgement_.unsettled = fmt::format(
          "{} has other bits on some devices from operation {}, {}, on; each repeats "
          "its own: their libraries may use other algorithms, so this proves no fault",
          at(members.front()).name, first.launch, first.operation);
      return;
    }
    const auto largest =
        std::ranges::max_element(groups, {}, [](const auto& group) { return group.second.size(); });
    const auto differs = [&](const Members& wrong, std::string against,
                             const std::vector<std::uint64_t>& trail,
                             const std::vector<std::uint64_t>& expected) {
      SdcDifference difference = difference_of(wrong, std::move(against));
      name_first_operation(difference, trail, expected, at(wrong.front()).operations);
      judgement_.differences.push_back(std::move(difference));
    };
    if (2 * largest->second.size() <= members.size()) {
      differs(members, "the others that did the same, and none has a majority",
              groups.begin()->first, groups.rbegin()->first);
      return;
    }
    for (const auto& [trail, group] : groups) {
      if (&trail == &largest->first) continue;
      for (const std::size_t r : group) {
        differs({r},
                fmt::format("{} of {} devices that did the same", largest->second.size(),
                            members.size()),
                trail, largest->first);
      }
    }
  }

  const std::span<const RankUnits> ranks_;
  const std::size_t unit_;
  RankJudgement judgement_;
};

}  // namespace

RankJudgement judge_ranks(std::span<const RankUnits> ranks, std::size_t unit) {
  return UnitJudge(ranks, unit).judge();
}

void name_first_operation(SdcDifference& difference, std::span<const std::uint64_t> trail,
                          std::span<const std::uint64_t> expected,
                          std::span<const std::string> operations) {
  const auto first = std::ranges::mismatch(trail, expected).in1 - trail.begin();
  difference.launch = static_cast<std::size_t>(first) + 1;
  difference.operation =
      difference.launch <= operations.size() ? operations[difference.launch - 1] : "memory at rest";
}

}  // namespace assay::health
