#include "advise/health/sdc.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "advise/health/corruption_work.h"
#include "advise/health/memory_patterns.h"
#include "advise/health/sdc_calibration.h"
#include "advise/health/sdc_comparison.h"
#include "advise/health/sdc_faults.h"
#include "advise/health/sdc_json.h"
#include "advise/health/sdc_locate.h"
#include "advise/health/sdc_reference.h"
#include "advise/health/sdc_verdict.h"
#include "advise/health/unit_under_test.h"
#include "compute/device/helpers.h"
#include "core/json.h"
#include "core/json_text.h"
#include "core/random.h"
#include "core/text.h"
#include "ranks/team/agreement.h"

namespace assay::health {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string described(const DeviceFacts& facts) {
  return fmt::format("{}:{} {}{}{}", facts.backend, facts.ordinal, facts.name,
                     facts.pci.empty() ? "" : ", ", facts.pci);
}

class CorruptionSearch {
 public:
  CorruptionSearch(const SdcPlan& plan, Device& device, Team& team)
      : plan_(plan),
        device_(device),
        team_(team),
        begin_(std::chrono::steady_clock::now()),
        power_(device.facts()) {}

  Result<SdcOutcome> run() {
    if (!plan_.reference.empty()) {
      reference_ = TRY(read_reference(plan_.reference));
      TRY(check_kind(*reference_, device_.facts()));
      const std::string other = other_making(*reference_, makings(device_.facts(), plan_.seed));
      if (!other.empty()) {
        notes_.push_back("the reference was made with " + other + ", so nothing is compared to it");
        reference_.reset();
      }
    }
    start_ = condition_of(device_);
    for (WorkDescription& description :
         plan_.work.empty() ? corruption_work(device_, team_) : std::vector(plan_.work)) {
      if (!is_chosen(description.name, plan_.only)) continue;
      UnderTest unit;
      unit.report.name = description.name;
      if (reference_) unit.choices = choices_of(*reference_, description.name);
      unit.description = std::move(description);
      units_.push_back(std::move(unit));
    }
    if (plan_.patterns && is_chosen(patterns_name, plan_.only)) {
      units_.emplace_back().report.name = patterns_name;
      patterns_ = TRY(MemoryPatterns::create(device_));
    }
    if (units_.empty()) {
      return Error{ErrorKind::usage,
                   fmt::format("no unit begins with \"{}\"; units begin with a benchmark's name or "
                               "are {}",
                               plan_.only, patterns_name)};
    }
    if (!plan_.faults.empty())
      TRY(agree(team_, "looking for the units of faults",
                find_units(plan_.faults, units_, device_, team_)));
    const Status done = work_together();
    TRY(unplantable_);
    if (!done.ok()) {
      team_error_ = done.error().message;
      interrupted_ = interrupted_ || done.error().kind == ErrorKind::interrupted;
    }
    return outcome();
  }

 private:
  /// Error: the team's.
  Status work_together() {
    TRY(prepare_all());
    if (!plan_.faults.empty() && !interrupted_) {
      unplantable_ = agree(team_, "looking for the operations of faults",
                           find_operations(plan_.faults, units_, team_.rank()));
      if (!unplantable_.ok()) return {};
    }
    take(TRY(compare_with_ranks(units_, kind_of(device_.facts()), team_)));
    if (reference_) {
      take(compare_with_reference(units_, *reference_,
                                  [&](const UnderTest& unit) { return difference_here(unit); }));
      const bool any = std::ranges::any_of(units_, [](const UnderTest& unit) {
        return std::ranges::count(unit.report.compared, "the reference") > 0;
      });
      if (!any) notes_.emplace_back("no unit could be compared to the reference");
    }
    return take_turns();
  }

  void take(SdcComparison comparison) {
    if (!comparison.unsettled.empty()) unsettled_ = std::move(comparison.unsettled);
    for (SdcDifference& difference : comparison.differences) add(std::move(difference));
  }

  bool stop_requested() {
    interrupted_ = interrupted_ || plan_.stop_requested();
    return interrupted_;
  }
  double elapsed() const { return seconds_since(begin_); }

  void show(const UnderTest& unit) const {
    if (!plan_.progress) return;
    plan_.progress({elapsed(), plan_.seconds, unit.report.name, unit.report.runs, count_});
  }

  /// Rank 0 prepares a unit ahead, and the others take over what it chooses by measuring. A stop of
  /// one rank stops all, so that they leave together.
  Status prepare_all() {
    std::vector<UnderTest*> own, together;
    for (UnderTest& unit : units_) {
      if (unit.report.name == patterns_name) continue;
      (unit.description.of_team ? together : own).push_back(&unit);
    }
    const std::size_t behind = team_.rank() == 0 ? 0 : 1,
                      steps = own.size() + (team_.size() > 1 ? 1 : 0);
    for (std::size_t step = 0; step < steps; ++step) {
      if (step >= behind && step - behind < own.size()) prepare_here(*own[step - behind]);
      UnderTest* const ahead = step < own.size() ? own[step] : nullptr;
      if (TRY(all_stop("preparing a unit", ahead))) return {};
    }
    for (UnderTest* const unit : together) {
      prepare_here(*unit);
      TRY(keep_on_all(*unit));
      if (TRY(all_stop("preparing " + unit->report.name))) return {};
    }
    return {};
  }

  /// Returns whether any rank stops. All ranks get rank 0's choices for the unit that it has just
  /// prepared `ahead` of them; null: none.
  Result<bool> all_stop(std::string_view step, UnderTest* ahead = nullptr) {
    Json mine = {{"stop", stop_requested()}};
    if (ahead != nullptr) mine["choices"] = choices_json(ahead->report.choices);
    const std::vector<std::string> all = TRY(team_.exchange(step, json_line(mine)));
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      const Json said = TRY(parse_json(all[rank]));
      interrupted_ = interrupted_ || said.value("stop", true);
      if (rank > 0 || ahead == nullptr || team_.rank() == 0) continue;
      std::vector<KeptChoice> choices = TRY(choices_from(said.value("choices", Json::array())));
      if (!choices.empty()) ahead->choices = std::move(choices);
    }
    return interrupted_;
  }

  /// Ranks that work together all have the unit, or none does.
  Status keep_on_all(UnderTest& unit) {
    for (const std::string& why :
         TRY(team_.exchange("keeping " + unit.report.name, unit.report.left_out))) {
      if (why.empty()) continue;
      if (unit.report.left_out.empty()) unit.report.left_out = "another rank: " + why;
      unit.work.reset();
    }
    return {};
  }

  void prepare_here(UnderTest& unit) {
    show(unit);
    const Benchmark& benchmark = *find_benchmark(unit.description.cell.benchmark());
    if (const auto reason = benchmark.unsupported(unit.description.cell, device_)) {
      unit.report.left_out = *reason;
      return;
    }
    auto work = CheckedWork::prepare(unit.description, device_,
                                     unit.description.of_team ? team_ : solo_team(), plan_.seed,
                                     plan_.stop_requested, unit.choices);
    Status done = work.ok() ? Status() : Status(work.error());
    if (unit.description.of_team) done = agree(team_, "preparing " + unit.report.name, done);
    if (done.ok()) {
      unit.work = std::move(*work);
      done = calibrate_here(unit);
    }
    if (!done.ok()) end_unit(unit, done.error());
  }

  /// An error of work that has run before may come from a wrong result, unless memory is short.
  void end_unit(UnderTest& unit, const Error& error) {
    const bool ran = unit.work != nullptr || unit.report.name == patterns_name;
    unit.work.reset();
    unit.report.left_out = error.message;
    if (error.kind == ErrorKind::interrupted) {
      interrupted_ = true;
      unit.report.left_out = "stopped before it was tested";
    } else if (error.kind != ErrorKind::exhausted) {
      unit.report.refused = unit.report.refused || ran || error.kind == ErrorKind::verification;
    }
  }

  Status calibrate_here(UnderTest& unit) {
    for (const Sums& sums : TRY(calibrate(unit, team_))) TRY(count_run(unit, sums));
    unit.report.calibration = unit.report.runs;
    return {};
  }

  /// Notes a repetition and, if it differs, where.
  Status count_run(UnderTest& unit, const Sums& sums) {
    CheckedWork& work = *unit.work;
    const Work done = work.work();
    ++unit.report.runs;
    unit.report.seconds += work.seconds();
    unit.report.flops += done.flops;
    unit.report.bytes += done.bytes;
    unit.report.checked_bytes += work.checked_bytes();
    if (plan_.repeated) plan_.repeated(unit.report, work.seconds(), done);
    unit.report.planted = work.planted();
    if (work.differing(sums, unit.expected).empty()) return {};
    SdcDifference difference = difference_here(unit);
    difference.run = unit.report.runs;
    difference.against = "its other repetitions";
    const Status located = locate(work, sums, unit.expected, unit.description.of_team, difference);
    add(std::move(difference));
    return located;
  }

  SdcDifference difference_here(const UnderTest& unit) const {
    SdcDifference difference;
    difference.unit = unit.report.name;
    difference.rank = team_.rank();
    difference.device = described(device_.facts());
    difference.before = start_;
    difference.before.sensors = before_;
    difference.after = condition_of(device_);
    return difference;
  }

  void add(SdcDifference difference) {
    ++count_;
    if (differences_.size() < plan_.most_differences) differences_.push_back(std::move(difference));
  }

  /// Units run in turns until the time is over. A turn takes at most a quarter of it, and a unit's
  /// part of it at most as long as ranks may wait for each other.
  Status take_turns() {
    constexpr double most_of_unit = 30;
    const double left = std::max(0.0, plan_.seconds - elapsed());
    const double slice = std::min(left / (4 * static_cast<double>(units_.size())), most_of_unit);
    bool more = !TRY(all_stop("beginning the turns"));
    power_.skip();
    for (turns_ = 0; more; ++turns_) {
      for (UnderTest& unit : units_) {
        const std::uint64_t runs = TRY(begin_slice(unit, slice));
        if (runs == 0) break;
        before_ = device_.sense();
        const Status done =
            unit.report.name == patterns_name ? run_patterns(unit) : run_slice(unit, slice, runs);
        if (!done.ok()) end_unit(unit, done.error());
        power_.note();
      }
      more = TRY(goes_on());
    }
    return {};
  }

  /// Returns how often ranks that work together repeat the unit, as rank 0 says; 0 if any of them
  /// has had enough.
  Result<std::uint64_t> begin_slice(const UnderTest& unit, double slice) {
    constexpr double most_runs = 10'000;
    const auto mine = static_cast<std::uint64_t>(
        std::clamp(slice / std::max(unit.run_seconds, 1e-6), 1.0, most_runs));
    const auto all =
        TRY(team_.exchange("testing " + unit.report.name, std::to_string(has_enough() ? 0 : mine)));
    if (std::ranges::count(all, "0") > 0) {
      return std::uint64_t{0};
    }
    return parse_count(all.front()).value_or(1);
  }

  bool has_enough() { return stop_requested() || count_ > plan_.most_differences; }
  bool is_over() { return has_enough() || (turns_ > 0 && elapsed() > plan_.seconds); }

  Status run_slice(UnderTest& unit, double slice, std::uint64_t runs) {
    if (!unit.work) return {};
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < runs; ++i) {
      // Ranks that work together end together.
      const bool late = i > 0 && seconds_since(begin) > slice;
      if (!unit.description.of_team && (is_over() || late)) return {};
      show(unit);
      rest(unit, slice);
      plant_faults(unit);
      const Sums sums = TRY(unit.work->repeat());
      unit.work->plant(lasting_fault(unit));
      TRY(count_run(unit, sums));
    }
    return {};
  }

  /// Faults come with changes of the clock: odd turns have pauses before a unit or within it.
  void rest(const UnderTest& unit, double slice) const {
    constexpr double longest = 0.3, share = 0.1;
    if (turns_ % 2 == 0 || !plan_.rests) return;
    const double seconds = std::min({longest, share * slice, 2 * unit.run_seconds}) *
                           static_cast<double>(unit.report.runs % 4) / 4;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }

  void plant_faults(UnderTest& unit) const {
    for (const PlantedFault& fault : plan_.faults) {
      const std::uint64_t planned = fault.run + unit.report.calibration;
      if (is_of(fault, unit, team_.rank()) && unit.report.runs + 1 == planned)
        unit.work->plant(fault);
    }
  }
  std::optional<PlantedFault> lasting_fault(const UnderTest& unit) const {
    for (const PlantedFault& fault : plan_.faults) {
      const std::uint64_t planned = fault.run + unit.report.calibration;
      if (is_of(fault, unit, team_.rank()) && fault.stays && unit.report.runs + 1 >= planned)
        return fault;
    }
    return std::nullopt;
  }

  Status run_patterns(UnderTest& unit) {
    if (is_over() || !unit.report.left_out.empty()) return {};
    show(unit);
    std::optional<MemoryPatterns::Planted> planted;
    for (const PlantedFault& fault : plan_.faults) {
      const std::uint64_t run = unit.report.runs + 1;
      const bool is_now = run == fault.run || (run > fault.run && fault.stays);
      // Patterns have no buffers: "memory buffer=1" is meant for the memory operations.
      if (fault.buffer > 0 || fault.launch > memory_pattern_count) continue;
      if (!is_of(fault, unit, team_.rank()) || !is_now) continue;
      planted = {static_cast<unsigned>(fault.launch - 1), fault.offset, fault.mask, fault.stays};
    }
    const DeviceFacts& facts = device_.facts();
    const std::uint64_t most = facts.emulated       ? std::uint64_t{1} << 20
                               : facts.runs_on_host ? std::uint64_t{64} << 20
                                                    : UINT64_MAX;
    const auto done = patterns_->run(plan_.memory_share, most, plan_.seed + turns_,
                                     replays_of_difference, planted);
    if (!done.ok()) return done.error();
    ++unit.report.runs;
    unit.report.seconds += done->seconds;
    unit.report.bytes += done->moved;
    unit.report.checked_bytes += done->read;
    if (planted) ++unit.report.planted;
    unit.report.memory_bytes = std::max(unit.report.memory_bytes, done->bytes);
    unit.report.compared = {"what was written"};
    if (plan_.repeated) plan_.repeated(unit.report, done->seconds, {.bytes = done->moved});
    unit.report.variant = "patterns";
    if (!done->wrong) return {};
    SdcDifference difference = difference_here(unit);
    difference.run = unit.report.runs;
    difference.against = "what was written";
    difference.launch = done->wrong->pattern + 1;
    difference.operation = fmt::format("memory that held pattern {}", done->wrong->pattern + 1);
    difference.buffer = 1;
    difference.offset = done->wrong->offset;
    difference.address = done->wrong->address;
    difference.expected = done->wrong->expected;
    difference.found = done->wrong->found;
    difference.wrong_words = done->wrong->count;
    difference.wrong_blocks = 1;
    difference.replays = done->replays;
    difference.replayed = done->replayed;
    add(std::move(difference));
    return {};
  }

  /// At the end of a turn every rank says what it has found, and all decide alike.
  Result<bool> goes_on() {
    Json mine = {{"stop", is_over() || elapsed() > plan_.seconds},
                 {"count", count_},
                 {"units", Json::array()},
                 {"differences", Json::array()}};
    for (const UnderTest& unit : units_) mine["units"].push_back(to_json(unit.report));
    for (const SdcDifference& one : differences_) mine["differences"].push_back(to_json(one));
    mine["coverage"] = to_json(coverage());
    said_ = TRY(team_.exchange("ending a turn", json_line(mine)));
    for (const std::string& text : said_) {
      if (TRY(parse_json(text)).value("stop", true)) return false;
    }
    return true;
  }

  SdcCoverage coverage() {
    SdcCoverage mine;
    mine.rank = team_.rank();
    mine.device = described(device_.facts());
    mine.memory_bytes = device_.facts().memory_bytes;
    mine.multiprocessors = device_.facts().multiprocessors;
    mine.power = power_.seen();
    std::vector<SdcUnit> reports;
    for (const UnderTest& unit : units_) reports.push_back(unit.report);
    add_units(mine, reports);
    if (device_.facts().runs_on_host) return mine;
    // A device that has stopped answers no more; what it said before still counts.
    const auto add = [&](const Result<std::set<unsigned>>& numbers) {
      if (numbers.ok()) multiprocessors_.insert(numbers->begin(), numbers->end());
    };
    for (const UnderTest& unit : units_) {
      if (unit.work) add(unit.work->multiprocessors());
    }
    if (patterns_) add(patterns_->multiprocessors());
    mine.multiprocessors_seen = static_cast<int>(multiprocessors_.size());
    return mine;
  }

  Result<SdcOutcome> outcome() {
    SdcOutcome all;
    all.device = described(device_.facts());
    all.ranks = team_.size();
    all.seconds = elapsed();
    all.interrupted = interrupted_;
    for (const UnderTest& unit : units_) all.units.push_back(unit.report);
    all.differences = differences_;
    all.difference_count = count_;
    all.seed = plan_.seed;
    all.notes = notes_;
    for (const PlantedFault& fault : plan_.faults) all.planted_faults.push_back(fault.text);
    all.coverage = {coverage()};
    std::vector<std::vector<SdcUnit>> ranks = {all.units};
    for (std::size_t r = 0; r < said_.size(); ++r) {
      if (r == static_cast<std::size_t>(team_.rank())) continue;
      const Json said = TRY(parse_json(said_[r]));
      all.difference_count += said.value("count", std::uint64_t{0});
      for (const Json& one : said["differences"]) {
        all.differences.push_back(TRY(difference_from(one)));
      }
      all.coverage.push_back(TRY(coverage_from(said["coverage"])));
      std::vector<SdcUnit>& units = ranks.emplace_back();
      for (const Json& unit : said["units"]) units.push_back(TRY(unit_from(unit)));
      add_rank(all.units, units);
    }
    decide(all, ranks, team_error_, unsettled_);
    return all;
  }

  const SdcPlan& plan_;
  Device& device_;
  Team& team_;
  const std::chrono::steady_clock::time_point begin_;
  std::optional<SdcReference> reference_;
  std::vector<UnderTest> units_;
  std::optional<MemoryPatterns> patterns_;
  std::vector<SdcDifference> differences_;
  std::uint64_t count_ = 0, turns_ = 0;
  std::vector<std::string> said_;  ///< by every rank, at the end of the last turn
  DeviceCondition start_;
  SensorReading before_;
  PowerWatch power_;
  std::set<unsigned> multiprocessors_;  ///< numbers of those that ran kernels of the test
  bool interrupted_ = false;
  Status unplantable_;      ///< the error of a fault whose operation or buffer does not exist
  std::string team_error_;  ///< that ended the test
  std::string unsettled_;   ///< what only other devices could tell
  std::vector<std::string> notes_;
};

}  // namespace

Result<SdcOutcome> check_corruption(const SdcPlan& plan, Device& device, Team& team) {
  return CorruptionSearch(plan, device, team).run();
}

}  // namespace assay::health
