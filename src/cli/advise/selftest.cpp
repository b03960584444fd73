// assay selftest: proves assay on this machine.
#include "advise/selftest/selftest.h"

#include <fmt/format.h>

#include <chrono>

#include "cli/advise/selftest_view.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "core/json.h"
#include "core/own_binary.h"
#include "core/read_file.h"
#include "core/units.h"
#include "core/write_file.h"

namespace assay::cli::selftest_command {
namespace {

using selftest::Check;
using selftest::CheckOutcome;
using selftest::Report;

/// On an H200 a check takes so long on average; most of it is to start a process and a driver.
constexpr double usual_check_seconds = 5;
constexpr std::size_t most_report_bytes = 4 << 20;
constexpr std::string_view default_file = "assay-selftest.json";

int status_of(const Report& report) {
  const selftest::Tally tally = count(report.outcomes);
  if (tally.faults > 0) return exit_cell_error;
  if (tally.stopped > 0) return exit_interrupted;
  return tally.passed > 0 ? exit_ok : exit_nothing_ran;
}

Result<int> explain(const std::string& path, const Arguments& arguments, Terminal& terminal) {
  const std::string text = TRY(read_operand(path, most_report_bytes));
  const auto report = selftest::parse_report(text);
  if (!report.ok()) return about(path, report.error());
  terminal.print(arguments.has("--json") ? json_line(to_json(*report)) + "\n"
                                         : explanation(*report, terminal.out_style()));
  return exit_ok;
}

/// What a process of a check does. "none" only describes the machine.
Result<int> run_here(const Arguments& arguments, Terminal& terminal) {
  const std::string device = arguments.get("--device"), only = arguments.get("--only");
  Report report = selftest::begin_report();
  if (only == "none") {
    report.machine = TRY(selftest::describe_machine(device));
  } else {
    for (const Check* check : TRY(selftest::find_checks(only))) {
      report.outcomes.push_back(run_check(*check, device));
      if (!arguments.has("--json")) {
        terminal.print(outcome_line(*check, report.outcomes.back(), terminal.out_style()));
      }
    }
  }
  if (arguments.has("--json")) terminal.print(json_line(to_json(report)) + "\n");
  return status_of(report);
}

Result<int> run_in_children(const Arguments& arguments, Terminal& terminal) {
  const auto checks = TRY(selftest::find_checks(arguments.get("--only")));
  const std::string file = arguments.get("--output", default_file);
  TRY(check_writable(file));
  const bool json = arguments.has("--json");
  terminal.note(fmt::format(
      "{} checks, each in a process of its own: about {} on a GPU, at most 8 GiB of its memory. "
      "Nothing on this machine is changed.\n",
      checks.size(), format_clock(usual_check_seconds * static_cast<double>(checks.size()))));
  const auto begin = std::chrono::steady_clock::now();
  std::size_t done = 0;
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  selftest::SelftestOptions options;
  options.binary = TRY(own_binary());
  options.device = arguments.get("--device");
  if (arguments.has("--patience")) {
    const auto patience = parse_duration(arguments.get("--patience"));
    if (!patience.ok()) return about("--patience", patience.error());
    options.patience_seconds = *patience;
  }
  options.stop_requested = &interrupt_requested;
  options.starting = [&](const Check& check) {
    if (!terminal.interactive()) return;
    terminal.rewrite_line(
        progress_line({done, checks.size(), seconds(), {}, std::string(check.name)},
                      static_cast<std::size_t>(terminal.error_width()), terminal.error_style()));
  };
  options.finished = [&](const Check& check, const CheckOutcome& outcome) {
    ++done;
    if (terminal.interactive()) terminal.rewrite_line("");
    if (json) return;
    terminal.print(outcome_line(check, outcome, terminal.out_style()));
    terminal.flush();
  };
  catch_interrupts();
  const Report report = run_selftest(checks, options);
  if (json) {
    terminal.print(json_line(to_json(report)) + "\n");
  } else {
    terminal.print(fmt::format("{} in {}\n",
                               tally_text(count(report.outcomes), terminal.out_style()),
                               format_clock(seconds())));
  }
  TRY(write_file(file, to_json(report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
  terminal.note(
      fmt::format("wrote {}: it names no host, user, path or serial number; please send "
                  "it to assay's maintainers\n",
                  file));
  return status_of(report);
}

Result<int> choose(const Arguments& arguments, Terminal& terminal) {
  if (arguments.has("--explain")) return explain(arguments.get("--explain"), arguments, terminal);
  if (arguments.has("--list")) {
    terminal.print(checks_text(TRY(selftest::find_checks(arguments.get("--only"))),
                               static_cast<std::size_t>(terminal.width()), terminal.out_style()));
    return exit_ok;
  }
  return arguments.has("--in-process") ? run_here(arguments, terminal)
                                       : run_in_children(arguments, terminal);
}

int run(const Arguments& arguments, Terminal& terminal) {
  const auto status = choose(arguments, terminal);
  return status.ok() ? *status : report(terminal, status.error());
}

const Command command = {
    .name = "selftest",
    .summary = "Prove assay on this machine: its kernels, the vendor's libraries, the hardware",
    .group = CommandGroup::diagnose,
    .positionals = "",
    .details =
        R"(Every check runs in a process of its own, so that a crash or a hang costs one line. A check is
passed, wrong, crashed, timed out or, where this machine cannot be asked, untested with the reason.
The report names no host, user, path or serial number: send it to assay's maintainers, above all
from a GPU on which assay has not run yet (docs/what-has-run.md). docs/selftest.md describes the
checks. Exit status: 0 if nothing is wrong, 1 if something is, 4 if nothing could be tested.

  assay selftest
  assay selftest --device hip:0 --only hardware,communication
  assay selftest --explain assay-selftest.json

)",
    .options =
        {
            {"--device", "NAME", "device to test; default: the best one", "cpu cuda hip"},
            {"--only", "ID[,ID...]", "only these checks or topics", ""},
            {"--list", "", "name the checks and what they need, and run none", ""},
            {"--output", "FILE", "where the report goes; default: assay-selftest.json", "file"},
            {"--patience", "TIME", "the longest that a check may take; default: its own limit", ""},
            {"--explain", "FILE", "say what a report shows, and run nothing", "file"},
            {"--in-process", "", "run the checks in this process, for a debugger; writes no report",
             ""},
        },
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::selftest_command
