#include "advise/health/sdc_calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ranks/team/agreement.h"

namespace assay::health {
namespace {

/// Repetitions that calibrate a unit, and how many decide if those differ.
constexpr std::size_t first_repetitions = 4, most_repetitions = 8;
/// With that many equal ones among the most, the others are wrong.
constexpr std::size_t clear_majority = 6;

std::size_t equal_to(const CheckedWork& work, const std::vector<Sums>& seen, std::size_t i) {
  return static_cast<std::size_t>(std::ranges::count_if(
      seen, [&](const Sums& sums) { return work.differing(sums, seen[i]).empty(); }));
}

/// Returns whether the repetitions are equal, on all ranks that do the work together.
Result<bool> all_equal(const UnderTest& unit, const std::vector<Sums>& seen, Team& team) {
  bool equal = equal_to(*unit.work, seen, 0) == seen.size();
  if (!unit.description.of_team) return equal;
  for (const std::string& answer :
       TRY(team.exchange("calibrating " + unit.report.name, equal ? "" : "differs"))) {
    equal = equal && answer.empty();
  }
  return equal;
}

/// Returns the first operation after which any of the repetitions differ; the number of operations
/// if only memory at the end does.
std::size_t first_that_differs(const CheckedWork& work, const std::vector<Sums>& seen) {
  std::size_t first = work.launches().size();
  for (const Sums& sums : seen) {
    const std::vector<DifferentBlock> blocks = work.differing(sums, seen.front());
    if (!blocks.empty()) first = std::min(first, blocks.front().launch);
  }
  return first;
}

/// Leaves out buffers that only libraries write, or else the unit, because too few of its
/// repetitions agree.
void leave_out_what_differs(UnderTest& unit, const std::vector<Sums>& seen) {
  CheckedWork& work = *unit.work;
  const std::size_t first = first_that_differs(work, seen);
  const std::string where =
      first == work.launches().size()
          ? std::string("memory at the end")
          : fmt::format("operation {}, {}", first + 1, work.launches()[first].name);
  const bool own = !work.calls_library();
  bool kept = !own;
  for (const Sums& sums : seen) kept = kept && work.leave_out(sums, seen[0]);
  if (kept) {
    unit.report.scratch = work.scratch();
    unit.report.note =
        "not compared, since it differs although the results do not: " + work.left_out_text();
    return;
  }
  (own ? unit.report.refused : unit.report.varies) = true;
  unit.report.left_out = fmt::format(
      "fewer than {} of its {} repetitions agree; they differ in {}: {}; other devices of this "
      "kind or a reference can tell",
      clear_majority, most_repetitions, where,
      own ? "it calls no library, so the device may compute wrongly every time"
          : "a library that need not give the same bits here, or a fault in every repetition");
  unit.work.reset();
}

}  // namespace

Result<std::vector<Sums>> calibrate(UnderTest& unit, Team& team) {
  CheckedWork& work = *unit.work;
  std::vector<Sums> seen;
  const auto run_first = [&]() -> Status {
    seen.push_back(TRY(work.learn()));
    while (seen.size() < first_repetitions) seen.push_back(TRY(work.repeat()));
    return {};
  };
  const Status ran = run_first();
  TRY(unit.description.of_team ? agree(team, "running " + unit.report.name, ran) : ran);
  unit.run_seconds = work.seconds();
  unit.report.variant = work.variant();
  unit.report.choices = work.choices();
  unit.report.calls_library = work.calls_library();
  std::size_t best = 0;
  if (!TRY(all_equal(unit, seen, team))) {
    while (seen.size() < most_repetitions) seen.push_back(TRY(work.repeat()));
    for (std::size_t i = 1; i < seen.size(); ++i) {
      if (equal_to(work, seen, i) > equal_to(work, seen, best)) best = i;
    }
    if (equal_to(work, seen, best) < clear_majority) leave_out_what_differs(unit, seen);
    if (!unit.work) return std::vector<Sums>();
  }
  unit.expected = seen[best];
  for (const CheckedWork::Launch& launch : work.launches()) {
    unit.report.operations.push_back(launch.name);
  }
  unit.report.trail = work.trail(unit.expected);
  unit.report.memory_bytes = work.memory_bytes();
  unit.report.compared = {"repetitions"};
  return seen;
}

}  // namespace assay::health
