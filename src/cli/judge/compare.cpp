// assay compare: a verdict on two environments, once or as a gate that runs every night.
#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/compare_operands.h"
#include "cli/judge/compare_view.h"
#include "cli/judge/gate_view.h"
#include "cli/option_values.h"
#include "core/json.h"
#include "core/write_file.h"
#include "judge/compare/comparison_json.h"
#include "judge/compare/costs_beside.h"
#include "judge/compare/operands.h"

namespace assay::cli::compare_command {
namespace {

/// The worse of two exit statuses: invalid, then different, then inconclusive, then equal.
int worse(int a, int b) {
  for (const int status : {+exit_verification, +exit_differs, +exit_inconclusive}) {
    if (a == status || b == status) return status;
  }
  return exit_ok;
}

/// The gate that the options ask for; empty: none.
Result<std::optional<RegressionGate>> given_gate(const Arguments& arguments) {
  TRY(check_two_files("--comment", arguments.get("--comment"), "--junit",
                      arguments.get("--junit")));
  if (arguments.has("--alarms") && arguments.has("--every")) {
    return std::optional(TRY(parse_gate(arguments.get("--alarms"), arguments.get("--every"))));
  }
  for (const std::string_view option : {"--alarms", "--every", "--comment", "--junit"}) {
    if (!arguments.has(option)) continue;
    return Error{ErrorKind::usage,
                 fmt::format("{} needs both --alarms and --every, e.g. --alarms 1/year --every day",
                             option)};
  }
  return std::optional<RegressionGate>();
}

/// An alarm ends with the status of a difference. No alarm is success, unless none could be raised.
int status_of(const GateOutcome& result) {
  if (!result.invalid.empty()) return exit_verification;
  if (!result.alarms.empty()) return exit_differs;
  return result.detectable ? exit_ok : exit_inconclusive;
}

std::string command_of(const Arguments& arguments) {
  std::string text = "assay compare";
  for (const std::string& word : arguments.positionals) text += " " + word;
  for (const std::string_view option : {"--margin", "--alarms", "--every"}) {
    if (arguments.has(option)) text += fmt::format(" {} {}", option, arguments.get(option));
  }
  return text;
}

Status write_gate_files(const Arguments& arguments, const std::vector<GatedComparison>& all,
                        const RegressionGate& gate, Terminal& terminal) {
  if (arguments.has("--comment")) {
    TRY(write_file(arguments.get("--comment"), gate_comment(all, gate, command_of(arguments))));
  }
  if (arguments.has("--junit")) TRY(write_file(arguments.get("--junit"), gate_junit(all, gate)));
  const char* const on_github = std::getenv("GITHUB_ACTIONS");
  if (on_github != nullptr && std::string_view(on_github) == "true") {
    terminal.note(gate_annotations(all));
  }
  return {};
}

int run(const Arguments& arguments, Terminal& terminal) {
  const auto gate = given_gate(arguments);
  if (!gate.ok()) return report(terminal, gate.error());
  const auto margin = given_margin(arguments);
  if (!margin.ok()) return report(terminal, margin.error());
  const auto price = given_price(arguments);
  if (!price.ok()) return report(terminal, price.error());
  const auto pairs = pairs_of_operands(arguments.positionals);
  if (!pairs.ok()) return report(terminal, pairs.error());
  int status = exit_ok;
  std::vector<GatedComparison> gated;  // results point into it
  gated.reserve(pairs->size());
  for (const auto& [a, b] : *pairs) {
    auto operands = load_operands(a, b);
    if (!operands.ok()) return report(terminal, operands.error());
    add_costs(operands->a, *price);
    add_costs(operands->b, *price);
    VerdictRule rule = rule_of(*margin, *operands);
    if (*gate) rule = rule_of_gate(rule, **gate);
    Comparison comparison =
        compare(operands->a, operands->b, operands->control ? &*operands->control : nullptr, rule);
    terminal.print(arguments.has("--json")
                       ? json_line(to_json(comparison)) + "\n"
                       : comparison_text(comparison, arguments.has("--all"),
                                         static_cast<std::size_t>(terminal.width()),
                                         terminal.out_style()));
    if (!*gate) {
      status = worse(status, exit_status_of(comparison.all.judgement.verdict));
      continue;
    }
    gated.push_back({std::move(comparison), {}});
    GatedComparison& last = gated.back();
    last.result = gate_result(last.comparison);
    terminal.note("gate: " + gate_sentence(**gate, last.result) + "\n");
    status = worse(status, status_of(last.result));
  }
  if (*gate) {
    const Status written = write_gate_files(arguments, gated, **gate, terminal);
    if (!written.ok()) return report(terminal, written.error());
  }
  return status;
}

const Command command = {
    .name = "compare",
    .summary = "Judge whether two environments are equally fast, with known error rates",
    .group = CommandGroup::compare,
    .positionals = "A B | CAMPAIGN",
    .least_positionals = 1,
    .most_positionals = 2,
    .details =
        R"(A and B are each one of: CAMPAIGN/ENVIRONMENT; a store that `assay run` wrote, or STORE:RUN;
a file that `assay baseline` wrote; a file that another program wrote, or a folder of such files
(`assay import` lists the formats).
For a CAMPAIGN alone, its baseline is compared with each of its other environments.

A verdict rests on runs, not on samples: only paired runs, measured in turns by
`assay campaign`, can be EQUAL, which means proven to lie within the margin. Results that
failed, did unequal work or lie above the roofline are INVALID. docs/method.md has the rule and
its measured error rates. Exit status: 0 EQUAL; 1 SLOWER, FASTER or SHIFTED; 3 INVALID;
6 INCONCLUSIVE or UNSTABLE.

--alarms 1/year --every day make it a gate that runs again and again: sound changes raise at most
one false alarm a year. An alarm is a cell that is SLOWER; the smallest slow-down that one
run finds is printed. Exit status then: 0 no alarm; 1 an alarm; 3 INVALID; 6 no alarm was possible,
because there are too few pairs. --comment writes Markdown for a pull request, --junit JUnit's XML,
and on GitHub's runners alarms become annotations.

  assay compare container-study
  assay compare results/monday results/tuesday --margin 1%
  assay compare rccl-before.log rccl-after.log
  assay compare campaigns/nightly --alarms 1/year --every day --comment comment.md --junit gate.xml

)",
    .options =
        {
            {"--margin", "SHARE",
             "differences below this do not matter, e.g. 1%; default: the campaign's, or 2%", ""},
            {"--alarms", "RATE", "as a gate: at most so many false alarms, e.g. 1/year", ""},
            {"--every", "PERIOD", "with --alarms: how often the gate runs, e.g. day or 20/day", ""},
            {"--comment", "FILE", "with --alarms: write a comment for a pull request", "file"},
            {"--junit", "FILE", "with --alarms: write JUnit's XML", "file"},
            {"--all", "", "every difference between the environments, not only the likeliest", ""},
            price_option(),
        },
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::compare_command
