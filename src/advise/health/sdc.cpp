#include "advise/health/sdc.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "advise/health/corruption_work.h"
#include "advise/health/memory_patterns.h"
#include "advise/health/sdc_json.h"
#include "advise/health/sdc_ranks.h"
#include "advise/health/sdc_reference.h"
#include "compute/device/helpers.h"
#include "core/json.h"
#include "core/json_text.h"
#include "core/random.h"
#include "core/text.h"
#include "ranks/team/agreement.h"

namespace assay::health {
namespace {

constexpr std::string_view patterns_name = "memory_patterns";
constexpr int replays_of_difference = 4;
/// Repetitions that calibrate a unit, and how many more decide if those differ.
constexpr std::size_t first_repetitions = 4, most_repetitions = 8;
/// With that many equal ones among the most, the others are wrong.
constexpr std::size_t clear_majority = 6;

struct UnderTest {
  WorkDescription description;
  std::unique_ptr<CheckedWork> work;  ///< null: left out, or the patterns
  SdcUnit report;
  Sums expected;
  std::vector<std::size_t> scratch_of_any;  ///< buffers that any rank leaves out
  double run_seconds = 0;                   ///< of one repetition on rank 0
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string described(const DeviceFacts& facts) {
  return fmt::format("{}:{} {}{}{}", facts.backend, facts.ordinal, facts.name,
                     facts.pci.empty() ? "" : ", ", facts.pci);
}

/// Sets the first word that differs and how many do.
void compare_bytes(const std::vector<std::byte>& expected, const std::vector<std::byte>& found,
                   SdcDifference& difference) {
  for (std::size_t at = 0; at < std::min(expected.size(), found.size()); at += 8) {
    const std::size_t bytes = std::min<std::size_t>(8, expected.size() - at);
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, expected.data() + at, bytes);
    std::memcpy(&b, found.data() + at, bytes);
    if (a == b) continue;
    if (difference.wrong_words++ > 0) continue;
    difference.expected = a;
    difference.found = b;
    difference.offset += at;
    difference.address += at;
  }
}

class CorruptionSearch {
 public:
  CorruptionSearch(const SdcPlan& plan, Device& device, Team& team)
      : plan_(plan), device_(device), team_(team), begin_(std::chrono::steady_clock::now()) {}

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
    const Status done = work_together();
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
    TRY(compare_ranks());
    if (reference_) compare_with_reference();
    return take_turns();
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

  /// Rank 0 prepares a unit ahead: what it chooses by measuring, the others with the same cache
  /// folder take over. A stop of one rank stops all, so that they leave together.
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
      if (TRY(all_stop("preparing a unit"))) return {};
    }
    for (UnderTest* const unit : together) {
      prepare_here(*unit);
      TRY(keep_on_all(*unit));
      if (TRY(all_stop("preparing " + unit->report.name))) return {};
    }
    return {};
  }

  Result<bool> all_stop(std::string_view step) {
    for (const std::string& text : TRY(team_.exchange(step, stop_requested() ? "stop" : ""))) {
      interrupted_ = interrupted_ || !text.empty();
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
                                     plan_.stop_requested);
    Status done = work.ok() ? Status() : Status(work.error());
    if (unit.description.of_team) done = agree(team_, "preparing " + unit.report.name, done);
    if (done.ok()) {
      unit.work = std::move(*work);
      done = calibrate(unit);
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

  Status calibrate(UnderTest& unit) {
    CheckedWork& work = *unit.work;
    std::vector<Sums> seen;
    const auto run_first = [&]() -> Status {
      seen.push_back(TRY(work.learn()));
      while (seen.size() < first_repetitions) seen.push_back(TRY(work.repeat()));
      return {};
    };
    const Status ran = run_first();
    TRY(unit.description.of_team ? agree(team_, "running " + unit.report.name, ran) : ran);
    unit.run_seconds = work.seconds();
    const auto equal_to = [&](std::size_t i) {
      return static_cast<std::size_t>(std::ranges::count_if(
          seen, [&](const Sums& sums) { return work.differing(sums, seen[i]).empty(); }));
    };
    bool equal = equal_to(0) == seen.size();
    if (unit.description.of_team) {
      for (const std::string& answer :
           TRY(team_.exchange("calibrating " + unit.report.name, equal ? "" : "differs"))) {
        equal = equal && answer.empty();
      }
    }
    unit.report.variant = work.variant();
    unit.report.calls_library = work.calls_library();
    std::size_t best = 0;
    if (!equal) {
      while (seen.size() < most_repetitions) seen.push_back(TRY(work.repeat()));
      for (std::size_t i = 1; i < seen.size(); ++i) {
        if (equal_to(i) > equal_to(best)) best = i;
      }
      if (equal_to(best) < clear_majority) {
        const std::vector<DifferentBlock> blocks = work.differing(seen[1], seen[0]);
        const std::string where = blocks.empty() || blocks.front().launch >= work.launches().size()
                                      ? std::string("memory at the end")
                                      : fmt::format("operation {}, {}", blocks.front().launch + 1,
                                                    work.launches()[blocks.front().launch].name);
        const bool own = !work.calls_library();
        bool kept = !own;
        for (const Sums& sums : seen) kept = kept && work.leave_out(sums, seen[0]);
        if (!kept) {
          (own ? unit.report.refused : unit.report.varies) = true;
          unit.report.left_out = fmt::format(
              "its results differ in most repetitions, first in {}: {}; other devices of this kind "
              "or a reference can tell",
              where,
              own ? "it calls no library, so the device may compute wrongly every time"
                  : "a library that need not give the same bits here, or a fault in every "
                    "repetition");
          unit.work.reset();
          return {};
        }
        unit.report.scratch = work.scratch();
        unit.report.note =
            "not compared, since it differs although the results do not: " + work.left_out_text();
      }
    }
    unit.expected = seen[best];
    for (const CheckedWork::Launch& launch : work.launches()) {
      unit.report.operations.push_back(launch.name);
    }
    unit.report.trail = work.trail(unit.expected);
    unit.report.memory_bytes = work.memory_bytes();
    unit.report.compared = {"repetitions"};
    for (const Sums& sums : seen) TRY(count_run(unit, sums));
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
    if (work.differing(sums, unit.expected).empty()) return {};
    return locate(unit, sums);
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

  Status locate(UnderTest& unit, const Sums& sums) {
    CheckedWork& work = *unit.work;
    const std::vector<DifferentBlock> blocks = work.differing(sums, unit.expected);
    const DifferentBlock& block = blocks.front();
    const bool at_end = block.launch >= work.launches().size();
    SdcDifference difference = difference_here(unit);
    difference.run = unit.report.runs;
    difference.against = "its other repetitions";
    difference.launch = block.launch + 1;
    difference.operation = !at_end                      ? work.launches()[block.launch].name
                           : work.is_written(block.sum) ? "memory after its last operation"
                                                        : "memory at rest";
    const WatchedBuffer buffer = work.buffer_of(block.sum);
    difference.buffer = buffer.number;
    difference.offset = work.offset_of(block.sum);
    difference.address = reinterpret_cast<std::uintptr_t>(buffer.address) + difference.offset;
    difference.wrong_blocks = blocks.size();
    std::vector<std::byte> found, expected;
    const auto keep = [&](std::vector<std::byte> bytes, bool of_this_run) {
      const std::uint64_t sum = Checksums::of(bytes.data(), bytes.size());
      if (sum == unit.expected[block.sum])
        expected = std::move(bytes);
      else if (found.empty() && (!of_this_run || sum == sums[block.sum]))
        found = std::move(bytes);
    };
    const auto look_again = [&]() -> Status {
      if (work.stays_until_end(block)) keep(TRY(work.bytes_of(block.sum)), true);
      // Replaying alone would leave the other ranks waiting.
      for (int i = 0; i < replays_of_difference && !unit.description.of_team; ++i) {
        CheckedWork::Look look = TRY(work.repeat_and_look(block));
        ++difference.replays;
        if (!work.differing(look.sums, unit.expected).empty()) ++difference.replayed;
        keep(std::move(look.bytes), false);
      }
      return {};
    };
    Status looked = look_again();
    compare_bytes(expected, found, difference);
    add(std::move(difference));
    return looked;
  }

  void add(SdcDifference difference) {
    ++count_;
    if (differences_.size() < plan_.most_differences) differences_.push_back(std::move(difference));
  }

  /// What differs between repetitions on most devices is scratch memory on all. What does on any is
  /// not compared between them.
  Status share_scratch() {
    Json mine = Json::array();
    for (const UnderTest& unit : units_) mine.push_back(with_trail(unit.report));
    std::vector<std::vector<SdcUnit>> ranks;
    for (const std::string& text : TRY(team_.exchange("comparing scratch", json_line(mine)))) {
      const Json json = TRY(parse_json(text));
      std::vector<SdcUnit>& units = ranks.emplace_back();
      for (const Json& unit : json) units.push_back(TRY(unit_from(unit)));
      if (units.size() != units_.size()) {
        return Error{ErrorKind::failed, "the ranks do not test the same units"};
      }
    }
    for (std::size_t i = 0; i < units_.size(); ++i) {
      UnderTest& unit = units_[i];
      if (!unit.work) continue;
      std::size_t alike = 0;
      std::map<std::size_t, std::size_t> says;  // how many ranks leave a buffer out
      for (const auto& units : ranks) {
        if (units[i].variant != unit.report.variant || units[i].trail.empty()) continue;
        ++alike;
        for (const std::size_t number : units[i].scratch) ++says[number];
      }
      std::vector<std::size_t> of_most;
      for (const auto& [number, count] : says) {
        unit.scratch_of_any.push_back(number);
        if (2 * count > alike) of_most.push_back(number);
      }
      unit.work->leave_out(of_most);
      unit.report.scratch = unit.work->scratch();
      unit.report.trail = unit.work->trail(unit.expected);
    }
    return {};
  }

  /// Devices of a kind that did the same work are compared, and the majority is taken as right.
  Status compare_ranks() {
    TRY(share_scratch());
    Json mine = {{"kind", kind_of(device_.facts())}, {"units", Json::array()}};
    for (const UnderTest& unit : units_) {
      SdcUnit compared = unit.report;
      if (unit.work) compared.trail = unit.work->trail(unit.expected, unit.scratch_of_any);
      Json json = with_trail(compared);
      json["run_seconds"] = unit.run_seconds;
      mine["units"].push_back(std::move(json));
    }
    std::vector<RankUnits> ranks;
    for (const std::string& text : TRY(team_.exchange("comparing checksums", json_line(mine)))) {
      const Json json = TRY(parse_json(text));
      RankUnits rank;
      rank.kind = json.value("kind", "");
      rank.name = name_of(team_.members()[ranks.size()]);
      for (const Json& unit : json["units"]) {
        rank.units.push_back(TRY(unit_from(unit)));
        rank.run_seconds.push_back(unit.value("run_seconds", 0.0));
      }
      if (rank.units.size() != units_.size()) {
        return Error{ErrorKind::failed, "the ranks do not test the same units"};
      }
      ranks.push_back(std::move(rank));
    }
    for (std::size_t i = 0; i < units_.size(); ++i) {
      units_[i].run_seconds = ranks.front().run_seconds[i];
      // The result of a collective is another one on each rank, and its own repetitions show it.
      if (units_[i].description.of_team) continue;
      RankJudgement judged = judge_ranks(ranks, i);
      for (const std::vector<std::size_t>& members : judged.compared) {
        if (std::ranges::count(members, static_cast<std::size_t>(team_.rank())) == 0) continue;
        units_[i].report.compared.push_back(fmt::format("{} ranks", members.size()));
      }
      if (team_.rank() != 0) continue;
      if (!judged.unsettled.empty()) unsettled_ = std::move(judged.unsettled);
      for (SdcDifference& difference : judged.differences) add(std::move(difference));
    }
    return {};
  }

  void compare_with_reference() {
    for (UnderTest& unit : units_) {
      const auto known = std::ranges::find(reference_->units, unit.report.name, &SdcUnit::name);
      if (known == reference_->units.end() || unit.report.variant.empty()) continue;
      if (known->variant != unit.report.variant) {
        unit.report.note = "the reference was made with other operations or algorithms";
        continue;
      }
      if (!unit.work || known->trail.size() != unit.report.trail.size()) continue;
      const bool knows_all = std::ranges::all_of(unit.report.scratch, [&](std::size_t number) {
        return std::ranges::count(known->scratch, number) > 0;
      });
      if (!knows_all) {
        unit.report.note = "more of its memory differs between repetitions than in the reference";
        continue;
      }
      if (!unit.work->compares_most(known->scratch)) {
        unit.report.note = "the reference leaves out most of its memory";
        continue;
      }
      unit.report.compared.emplace_back("the reference");
      const std::vector<std::uint64_t> trail = unit.work->trail(unit.expected, known->scratch);
      if (known->trail == trail) continue;
      if (unit.report.calls_library) {
        unsettled_ = unit.report.name +
                     " repeats its bits, which are not those of the reference: the library's "
                     "algorithms were chosen by measuring on each, so this proves no fault";
        continue;
      }
      SdcDifference difference = difference_here(unit);
      difference.against = "the reference";
      name_first_operation(difference, trail, known->trail, unit.report.operations);
      add(std::move(difference));
    }
  }

  /// Units run in turns until the time is over. A turn takes at most a quarter of it, and a unit's
  /// part of it at most as long as ranks may wait for each other.
  Status take_turns() {
    constexpr double most_of_unit = 30;
    const double left = std::max(0.0, plan_.seconds - elapsed());
    const double slice = std::min(left / (4 * static_cast<double>(units_.size())), most_of_unit);
    bool more = !TRY(all_stop("beginning the turns"));
    for (turns_ = 0; more; ++turns_) {
      for (UnderTest& unit : units_) {
        const std::uint64_t runs = TRY(begin_slice(unit, slice));
        if (runs == 0) break;
        before_ = device_.sense();
        const Status done =
            unit.report.name == patterns_name ? run_patterns(unit) : run_slice(unit, slice, runs);
        if (!done.ok()) end_unit(unit, done.error());
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

  bool is_of(const PlantedFault& fault, const UnderTest& unit) const {
    return fault.rank == team_.rank() && unit.report.name.starts_with(fault.work);
  }
  void plant_faults(UnderTest& unit) const {
    for (const PlantedFault& fault : plan_.faults) {
      const std::uint64_t planned = fault.run + first_repetitions;
      if (is_of(fault, unit) && unit.report.runs + 1 == planned) unit.work->plant(fault);
    }
  }
  std::optional<PlantedFault> lasting_fault(const UnderTest& unit) const {
    for (const PlantedFault& fault : plan_.faults) {
      const std::uint64_t planned = fault.run + first_repetitions;
      if (is_of(fault, unit) && fault.stays && unit.report.runs + 1 >= planned) return fault;
    }
    return std::nullopt;
  }

  Status run_patterns(UnderTest& unit) {
    if (is_over() || !unit.report.left_out.empty()) return {};
    show(unit);
    std::optional<MemoryPatterns::Planted> planted;
    for (const PlantedFault& fault : plan_.faults) {
      if (!is_of(fault, unit) || fault.run != unit.report.runs + 1) continue;
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
    unit.report.checked_bytes += done->moved / 2;
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
    said_ = TRY(team_.exchange("ending a turn", json_line(mine)));
    for (const std::string& text : said_) {
      if (TRY(parse_json(text)).value("stop", true)) return false;
    }
    return true;
  }

  Result<SdcOutcome> outcome() {
    SdcOutcome all;
    all.device = described(device_.facts());
    all.ranks = team_.size();
    all.seconds = elapsed();
    all.interrupted = interrupted_;
    all.memory_total = device_.facts().memory_bytes;
    for (const UnderTest& unit : units_) all.units.push_back(unit.report);
    all.differences = differences_;
    all.difference_count = count_;
    all.seed = plan_.seed;
    all.notes = notes_;
    Tested least = tested_of(all.units);
    std::vector<std::vector<SdcUnit>> ranks = {all.units};
    for (std::size_t r = 0; r < said_.size(); ++r) {
      if (r == static_cast<std::size_t>(team_.rank())) continue;
      const Json said = TRY(parse_json(said_[r]));
      ranks.push_back(TRY(add_rank(said, all)));
      const Tested tested = tested_of(ranks.back());
      least = {std::min(least.seconds, tested.seconds), std::min(least.flops, tested.flops),
               std::min(least.bytes, tested.bytes)};
    }
    for (const SdcUnit& unit : all.units) {
      if (unit.name == patterns_name) all.memory_tested = unit.memory_bytes;
    }
    const Tested whole = tested_of(all.units);
    all.tested_seconds = whole.seconds;
    all.flops = whole.flops;
    all.bytes = whole.bytes;
    decide(all, ranks, least);
    return all;
  }

  struct Tested {
    double seconds = 0, flops = 0, bytes = 0;
  };
  static Tested tested_of(const std::vector<SdcUnit>& units) {
    Tested all;
    for (const SdcUnit& unit : units) {
      if (!unit.left_out.empty()) continue;
      all.seconds += unit.seconds;
      all.flops += unit.flops;
      all.bytes += unit.bytes;
    }
    return all;
  }

  /// Returns the rank's units.
  static Result<std::vector<SdcUnit>> add_rank(const Json& said, SdcOutcome& all) {
    all.difference_count += said.value("count", std::uint64_t{0});
    for (const Json& one : said["differences"]) {
      all.differences.push_back(TRY(difference_from(one)));
    }
    std::vector<SdcUnit> units;
    for (std::size_t i = 0; i < all.units.size() && i < said["units"].size(); ++i) {
      const SdcUnit unit = TRY(unit_from(said["units"][i]));
      all.units[i].runs += unit.runs;
      all.units[i].seconds += unit.seconds;
      all.units[i].flops += unit.flops;
      all.units[i].bytes += unit.bytes;
      all.units[i].checked_bytes += unit.checked_bytes;
      units.push_back(unit);
    }
    return units;
  }

  /// Returns why the verdict cannot be SOUND; empty: it can.
  std::string doubt(const std::vector<std::vector<SdcUnit>>& ranks) const {
    if (!team_error_.empty()) return team_error_;
    if (!unsettled_.empty()) return unsettled_;
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

  void decide(SdcOutcome& all, const std::vector<std::vector<SdcUnit>>& ranks,
              const Tested& least) const {
    std::uint64_t runs = 0;
    std::size_t tested = 0;
    for (const SdcUnit& unit : all.units) {
      if (!unit.left_out.empty()) continue;
      runs += unit.runs;
      if (unit.runs > 0) ++tested;
    }
    if (all.difference_count > 0) {
      all.verdict = SdcVerdict::corrupt;
      all.why = fmt::format("{} of {} repetitions differ from what they should be{}",
                            all.difference_count, runs,
                            team_error_.empty() ? "" : "; then " + team_error_);
      return;
    }
    all.why = doubt(ranks);
    if (all.why.empty() && tested == 0) all.why = "no unit could be compared with anything";
    if (!all.why.empty()) return;
    all.verdict = SdcVerdict::sound;
    all.why = fmt::format("{} repetitions of {} units gave the same bits", runs, tested);
    constexpr double of_95_percent = 3, hour = 3600, peta = 1e15;
    if (least.seconds > 0) all.faults_per_device_hour = of_95_percent * hour / least.seconds;
    if (least.flops > 0) all.faults_per_1e15_flops = of_95_percent * peta / least.flops;
    if (least.bytes > 0) all.faults_per_1e15_bytes = of_95_percent * peta / least.bytes;
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
  bool interrupted_ = false;
  std::string team_error_;  ///< that ended the test
  std::string unsettled_;   ///< what only other devices could tell
  std::vector<std::string> notes_;
};

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

Result<SdcOutcome> check_corruption(const SdcPlan& plan, Device& device, Team& team) {
  return CorruptionSearch(plan, device, team).run();
}

}  // namespace assay::health
