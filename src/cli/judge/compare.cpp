// assay compare: a verdict on two environments.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/compare_operands.h"
#include "cli/judge/compare_view.h"
#include "core/json.h"
#include "judge/compare/comparison_json.h"
#include "judge/compare/operands.h"

namespace assay::cli::compare_command {
namespace {

int status_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::equal:
      return exit_ok;
    case Verdict::invalid:
      return exit_verification;
    case Verdict::inconclusive:
    case Verdict::unstable:
      return exit_inconclusive;
    default:
      return exit_differs;
  }
}

/// The worse of two exit statuses: invalid, then different, then inconclusive, then equal.
int worse(int a, int b) {
  for (const int status : {+exit_verification, +exit_differs, +exit_inconclusive}) {
    if (a == status || b == status) return status;
  }
  return exit_ok;
}

int run(const Arguments& arguments, Terminal& terminal) {
  const auto margin = given_margin(arguments);
  if (!margin.ok()) return report(terminal, margin.error());
  const auto pairs = pairs_of_operands(arguments.positionals);
  if (!pairs.ok()) return report(terminal, pairs.error());
  int status = exit_ok;
  for (const auto& [a, b] : *pairs) {
    const auto operands = load_operands(a, b);
    if (!operands.ok()) return report(terminal, operands.error());
    const Comparison comparison =
        compare(operands->a, operands->b, operands->control ? &*operands->control : nullptr,
                rule_of(*margin, *operands));
    terminal.print(arguments.has("--json")
                       ? json_line(to_json(comparison)) + "\n"
                       : comparison_text(comparison, arguments.has("--all"),
                                         static_cast<std::size_t>(terminal.width()),
                                         terminal.out_style()));
    status = worse(status, status_of(comparison.all.judgement.verdict));
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

  assay compare container-study
  assay compare results/monday results/tuesday --margin 1%
  assay compare rccl-before.log rccl-after.log

)",
    .options =
        {
            {"--margin", "SHARE",
             "differences below this do not matter, e.g. 1%; default: the campaign's, or 2%", ""},
            {"--all", "", "every difference between the environments, not only the likeliest", ""},
        },
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::compare_command
