#include "advise/selftest/selftest.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <chrono>

#include "core/json.h"
#include "core/program.h"
#include "core/suggest.h"

namespace assay::selftest {
namespace {

/// CPUs and emulated GPUs may take this many times as long.
constexpr double slow_factor = 10;
constexpr double describing_seconds = 120;

struct ChildEnd {
  std::string last_line;  ///< of its standard output
  ProgramEnd end;
};

/// Libraries may print on the child's standard output, too; its answer is the last line.
Result<ChildEnd> run_child(const SelftestOptions& options, const std::vector<std::string>& words,
                           double limit_seconds) {
  ChildEnd child;
  ProgramStart start;
  start.words = {options.binary, "selftest", "--in-process", "--json"};
  start.words.insert(start.words.end(), words.begin(), words.end());
  if (!options.device.empty()) {
    start.words.insert(start.words.end(), {"--device", options.device});
  }
  start.timeout_seconds = limit_seconds;
  start.grace_seconds = 2;
  start.stop_requested = options.stop_requested;
  start.line = [&](std::string_view line) { child.last_line = line; };
  child.end = TRY(run_program(start));
  return child;
}

/// Why a child that gave no answer ended.
CheckOutcome without_answer(const Check& check, const ProgramEnd& end, double limit_seconds) {
  CheckOutcome outcome = {std::string(check.name), Outcome::crashed, "", 0};
  const std::string said = last_line(end.errors_tail);
  const std::string behind = said.empty() ? "" : "; its last message: " + said;
  if (end.stopped) {
    outcome.outcome = Outcome::stopped;
    outcome.detail = "stopped while it ran";
  } else if (end.timed_out) {
    outcome.outcome = Outcome::timed_out;
    outcome.detail = fmt::format("no answer within {:.0f} s{}", limit_seconds, behind);
  } else if (end.status > 128) {
    outcome.detail = fmt::format("ended by signal {} ({}){}", end.status - 128,
                                 ::strsignal(end.status - 128), behind);
  } else {
    outcome.detail = fmt::format("ended with status {} and no answer{}", end.status, behind);
  }
  return outcome;
}

CheckOutcome run_in_child(const Check& check, const SelftestOptions& options, bool slow) {
  const double own_limit = check.limit_seconds * (slow ? slow_factor : 1);
  const double limit = options.patience_seconds > 0 ? options.patience_seconds : own_limit;
  const auto begin = std::chrono::steady_clock::now();
  const auto child = run_child(options, {"--only", std::string(check.name)}, limit);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  if (!child.ok()) {
    return {std::string(check.name), Outcome::untested, child.error().message, passed.count()};
  }
  const auto answer = parse_report(child->last_line);
  const bool answered =
      answer.ok() && answer->outcomes.size() == 1 && answer->outcomes.front().check == check.name;
  // A library may crash when the process unloads it, after the answer.
  CheckOutcome outcome = answered && child->end.status <= 128 && !child->end.timed_out
                             ? answer->outcomes.front()
                             : without_answer(check, child->end, limit);
  outcome.seconds = passed.count();
  return outcome;
}

Result<Machine> ask_for_machine(const SelftestOptions& options) {
  const ChildEnd child = TRY(run_child(options, {"--only", "none"}, describing_seconds));
  const auto answer = parse_report(child.last_line);
  if (answer.ok() && !answer->machine.device.empty()) return answer->machine;
  if (child.end.stopped) return Error{ErrorKind::interrupted, "stopped"};
  static constexpr Check opening = {
      .name = "device", .topic = Topic::device, .about = "", .run = nullptr};
  const std::string said = last_line(child.end.errors_tail);
  return Error{ErrorKind::unavailable,
               child.end.status > 128 || child.end.timed_out || said.empty()
                   ? without_answer(opening, child.end, describing_seconds).detail
                   : said};
}

}  // namespace

std::vector<const Check*> checks() {
  std::vector<const Check*> all;
  for (const Check& check : CheckRegistry::entries()) all.push_back(&check);
  std::ranges::sort(all, [](const Check* a, const Check* b) {
    return std::pair(a->topic, a->name) < std::pair(b->topic, b->name);
  });
  return all;
}

Result<std::vector<const Check*>> find_checks(std::string_view names) {
  const std::vector<const Check*> all = checks();
  if (names.empty()) return all;
  std::vector<const Check*> found;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const std::size_t before = found.size();
    std::vector<std::string> known;
    for (const Check* check : all) {
      known.emplace_back(check->name);
      if (check->name == name || name_of(check->topic) == name) found.push_back(check);
    }
    if (found.size() == before) {
      return Error{ErrorKind::usage,
                   fmt::format("there is no check or topic \"{}\"{}; `assay selftest --list` lists "
                               "them",
                               name, did_you_mean(name, known))};
    }
  }
  return found;
}

Report run_selftest(const std::vector<const Check*>& checks, const SelftestOptions& options) {
  Report report = begin_report();
  const auto machine = ask_for_machine(options);
  if (machine.ok()) report.machine = *machine;
  const bool slow = machine.ok() && machine->small_work;
  for (const Check* check : checks) {
    CheckOutcome outcome = {std::string(check->name), Outcome::untested, "", 0};
    if (options.stop_requested()) {
      outcome.outcome = Outcome::stopped;
    } else if (!machine.ok()) {
      outcome.detail = "no device could be opened: " + machine.error().message;
    } else {
      options.starting(*check);
      outcome = run_in_child(*check, options, slow);
    }
    options.finished(*check, outcome);
    report.outcomes.push_back(std::move(outcome));
  }
  return report;
}

}  // namespace assay::selftest
