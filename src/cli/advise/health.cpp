// assay health: the doctor, a one-minute acceptance and advice.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/advise/doctor_view.h"
#include "cli/advise/health_run.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/results_store.h"
#include "core/json.h"
#include "core/own_binary.h"
#include "ranks/environments/shell_words.h"

namespace assay::cli::health_command {
namespace {

/// Returns a command with the options of this call that it has, too.
std::string with_options(std::string command, const Arguments& arguments,
                         const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (arguments.has(name))
      command += fmt::format(" {} {}", name, shell_word(arguments.get(name)));
  }
  if (arguments.has("--shared")) command += " --shared";
  return command;
}

std::string advice_text(const Result<health::Acceptance>& acceptance, const Arguments& arguments) {
  std::vector<std::pair<std::string, std::string_view>> lines;
  if (acceptance.ok() && acceptance->verdict() == health::LineVerdict::fail) {
    lines.emplace_back("doctor", "what is misconfigured, and the commands that fix it");
  }
  if (acceptance.ok()) {
    lines.emplace_back(with_options("health accept", arguments, {"--limits", "--device"}),
                       "every line, in 15 minutes");
  }
  if (!acceptance.ok() && acceptance.error().kind == ErrorKind::unavailable) {
    lines.emplace_back("devices", "devices found, and why others cannot be used");
  } else {
    lines.emplace_back(
        with_options("health sdc --duration 10min", arguments, {"--device"}),
        acceptance.ok() ? "silent data corruption, at length" : "silent data corruption");
  }
  if (!acceptance.ok() && acceptance.error().kind == ErrorKind::usage) {
    lines.emplace_back("health limits STORE...", "limits from records of healthy machines");
  }
  std::size_t width = 0;
  for (const auto& [command, why] : lines) width = std::max(width, command.size());
  std::string text = "next:\n";
  for (const auto& [command, why] : lines) {
    text += fmt::format("  {} {:<{}}  {}\n", own_command(), command, width, why);
  }
  return text;
}

Result<int> health(const Arguments& arguments, Terminal& terminal) {
  AcceptanceRequest request;
  const bool quick = arguments.has("--quick");
  // A prolog must end within a minute; the doctor and loading libraries on many GPUs take a part of
  // it.
  constexpr double prolog = 40, minute = 60, corruption = 10;
  constexpr std::chrono::seconds end_of_prolog{55};
  request.thoroughness = health::Thoroughness::quick;
  request.seconds = quick ? prolog : minute;
  request.corruption_seconds = quick ? 0 : corruption;
  if (quick) request.deadline = std::chrono::steady_clock::now() + end_of_prolog;
  request.folder = pipe;
  TRY(read_acceptance(arguments, request));
  catch_interrupts();
  complain_without_proc(terminal);
  const Diagnosis diagnosis = diagnose(this_machine(), {}, TRY(find_checks({})), true);
  const bool sick = count(fold(diagnosis), Judgement::fail) > 0;
  const bool json = arguments.has("--json");
  const auto width = static_cast<std::size_t>(terminal.width());
  const Style style = terminal.out_style();
  if (!json) {
    terminal.print(quick ? summary_text(fold(diagnosis)) + "\n"
                         : diagnosis_text(diagnosis, false, width, style) + "\n");
    terminal.flush();
  }
  const auto acceptance = accept_machine(request, arguments, diagnosis, terminal);
  if (!acceptance.ok() && (arguments.has("--limits") || arguments.has("--device"))) {
    return acceptance.error();
  }
  if (json) {
    Json all = {{"doctor", to_json(diagnosis)}};
    if (acceptance.ok()) all["acceptance"] = to_json(*acceptance);
    if (!acceptance.ok()) all["problem"] = acceptance.error().message;
    terminal.print(all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    if (acceptance.ok()) terminal.print(acceptance_text(*acceptance, width, style));
    // What is accepted has a line for each failed check.
    if (!acceptance.ok() && quick) {
      terminal.print(short_text(fold(diagnosis), Judgement::fail, width, style));
    }
    if (!acceptance.ok()) terminal.print("not measured: " + acceptance.error().message + "\n");
    if (!quick) terminal.print(advice_text(acceptance, arguments));
  }
  if (interrupt_requested()) return exit_interrupted;
  const bool failed = acceptance.ok() && acceptance->verdict() == health::LineVerdict::fail;
  return sick || failed ? exit_cell_error : exit_ok;
}

int run(const Arguments& arguments, Terminal& terminal) {
  const auto status = health(arguments, terminal);
  return status.ok() ? *status : report(terminal, status.error());
}

std::vector<Option> options() {
  std::vector<Option> all = {
      {"--quick", "", "less than a minute and few words, for the prolog of a job", ""}};
  const std::vector<Option> shared = acceptance_options();
  all.insert(all.end(), shared.begin(), shared.end());
  return all;
}

const Command command = {
    .name = "health",
    .summary = "Check a machine in a minute: its setup, its fastest lines, and what to do next",
    .group = CommandGroup::diagnose,
    .positionals = "",
    .details =
        R"(The checks of `assay doctor`, then the fastest lines of `assay health accept` and ten seconds of
`assay health sdc`, then advice. Exit status: 1 if a check or a line failed; a line that is UNKNOWN
does not count. Kinds of it with a help of their own: `assay health accept` accepts a machine, `assay
health limits` makes limits from healthy machines and judges those of others, `assay health sdc` looks
for silent data corruption, `assay health burn` holds a device at its power limit.

  assay health
  assay health --quick; [ $? -ne 1 ]      in a prolog: drain the node only if something failed

)",
    .options = options(),
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::health_command
