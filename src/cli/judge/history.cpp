// assay history: results over time, and the points at which they changed.
#include "judge/history/history.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "cli/cell_filter.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/compare_operands.h"
#include "cli/completion_words.h"
#include "cli/judge/history_view.h"
#include "cli/judge/left_out_view.h"
#include "core/json.h"
#include "core/units.h"
#include "judge/history/trend.h"

namespace assay::cli::history_command {
namespace {

Result<std::string> database_of(const Arguments& arguments) {
  std::string file = arguments.get("--database", default_history());
  if (file.empty()) {
    return Error{ErrorKind::usage,
                 "neither XDG_DATA_HOME nor HOME is set; give the history file: --database FILE"};
  }
  return file;
}

/// A date, or a prefix of a time as written in records.
Result<std::string> parse_since(const std::string& text) {
  constexpr std::string_view form = "0000-00-00T00:00:00.000Z";
  bool right = text.empty() || (text.size() >= 4 && text.size() <= form.size());
  for (std::size_t i = 0; right && i < text.size(); ++i) {
    right = form[i] == '0' ? std::isdigit(static_cast<unsigned char>(text[i])) != 0
                           : text[i] == form[i];
  }
  if (right) return text;
  return Error{ErrorKind::usage,
               fmt::format("--since \"{}\" is not a date; write it as 2026-01-31", text)};
}

Result<ChangePointRule> rule_of(const Arguments& arguments) {
  ChangePointRule rule;
  const std::string window = arguments.get("--window", "50");
  const auto points = parse_integer(window);
  if (!points.ok() || *points < 10 || *points > 1000) {
    return Error{ErrorKind::usage,
                 fmt::format("--window \"{}\" is not allowed; allowed: 10 to 1000", window)};
  }
  rule.window = static_cast<std::size_t>(*points);
  rule.p = TRY(parse_share("--p", arguments.get("--p", "0.001"), 1e-9, 0.05));
  const double magnitude =
      TRY(parse_share("--magnitude", arguments.get("--magnitude", "0"), 0, 0.5));
  rule.magnitude = std::log1p(magnitude);
  return rule;
}

Result<CellFilter> filter_of(const std::vector<std::string>& words) {
  CellFilter filter;
  for (const std::string& word : words) {
    if (word.find('=') != std::string::npos) {
      filter.settings.push_back(TRY(parse_axis_setting(word)));
    } else if (filter.benchmark.empty()) {
      filter.benchmark = word;
    } else {
      return Error{ErrorKind::usage,
                   fmt::format("two benchmarks given: {} and {}", filter.benchmark, word)};
    }
  }
  return filter;
}

Result<int> add(const Arguments& arguments, Terminal& terminal) {
  const std::string file = TRY(database_of(arguments));
  const std::vector<std::string> operands(arguments.positionals.begin() + 1,
                                          arguments.positionals.end());
  if (operands.empty()) return Error{ErrorKind::usage, "usage: assay history add STORE..."};
  std::vector<Evidence> evidence;  // read all before storing anything
  for (const std::string& operand : operands) evidence.push_back(TRY(load_evidence(operand)));
  History history = TRY(History::open_or_create(file));
  Json json = {{"database", history.path().string()}, {"stores", Json::array()}};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    History::Added added = TRY(history.add(evidence[i]));
    std::vector<LeftOut> left_out = evidence[i].left_out;
    left_out.insert(left_out.end(), added.left_out.begin(), added.left_out.end());
    for (const auto* problems : {&evidence[i].problems, &added.problems}) {
      for (const std::string& problem : *problems) terminal.complain(operands[i] + ": " + problem);
    }
    if (arguments.has("--json")) {
      json["stores"].push_back({{"store", operands[i]},
                                {"added", added.points},
                                {"known", added.known},
                                {"left_out", to_json(left_out)}});
      continue;
    }
    terminal.print(
        fmt::format("{}: {} values added, {} were already there\n", operands[i], added.points,
                    added.known) +
        left_out_text(left_out, static_cast<std::size_t>(terminal.width()), terminal.out_style()));
  }
  if (arguments.has("--json")) {
    terminal.print(json_line(json) + "\n");
  }
  return static_cast<int>(exit_ok);
}

Result<int> show(const Arguments& arguments, Terminal& terminal) {
  const ChangePointRule rule = TRY(rule_of(arguments));
  const std::string since = TRY(parse_since(arguments.get("--since")));
  const CellFilter filter = TRY(filter_of(arguments.positionals));
  const std::string file = TRY(database_of(arguments));
  const History history = TRY(History::open(file));
  bool is_empty = true;
  auto series = TRY(history.read([&](const HistoryKey& key) {
    is_empty = false;
    return matches(filter, Cell(key.benchmark, key.axes));
  }));
  if (series.empty()) {
    const std::string file_name = history.path().string();
    return Error{ErrorKind::usage,
                 is_empty ? fmt::format("{} holds no results; fill it: assay history add STORE...",
                                        file_name)
                          : fmt::format("{} has no series of that kind", file_name)};
  }
  const std::vector<Trend> trends = TRY(trends_of(history, std::move(series), rule, since));
  terminal.print(arguments.has("--json") ? json_line(history_json(trends, rule)) + "\n"
                                         : history_text(trends, rule, arguments.has("--all"),
                                                        static_cast<std::size_t>(terminal.width()),
                                                        terminal.out_style()));
  for (const Trend& trend : trends) {
    if (trend.got_worse()) return static_cast<int>(exit_differs);
  }
  return static_cast<int>(exit_ok);
}

int run(const Arguments& arguments, Terminal& terminal) {
  const bool adding = !arguments.positionals.empty() && arguments.positionals.front() == "add";
  const auto status = adding ? add(arguments, terminal) : show(arguments, terminal);
  return status.ok() ? *status : report(terminal, status.error());
}

const Command command = {
    .name = "history",
    .summary = "Keep results over time and find when they changed, and what changed with them",
    .group = CommandGroup::compare,
    .positionals = "add STORE... | [BENCHMARK] [AXIS=VALUE[,VALUE...]]...",
    .least_positionals = 0,
    .most_positionals = 4096,
    .details =
        R"(`add` puts the runs of a STORE (anything that `assay compare` accepts, except a baseline) into the
history; runs that it already has are not changed. Runs belong to one series if machine, device,
cell and metric are the same. Without `add`, every series is shown with its change points:
E-divisive with Student's t test, as in Hunter and Apache Otava, on logarithms of times. A change
is "sure" if it survives Holm's correction over all series shown; `assay help method` has measured
error rates. Exit status: 1 if the latest change of some series is for the worse and sure, else 0.

  assay history add results/*
  assay history memory op=triad --since 2026-01-01
  assay history --magnitude 1% --json | jq '.series[] | select(.worse)'

)",
    .options =
        {
            {"--database", "FILE",
             "the history; default: $XDG_DATA_HOME/assay/history.sqlite, "
             "~/.local/share/assay/history.sqlite",
             ""},
            {"--since", "DATE", "only changes since this date, e.g. 2026-01-31", ""},
            {"--window", "N", "number of runs analysed together, 10 to 1000; default 50", ""},
            {"--p", "P", "largest p of a change in the t test; default 0.001", ""},
            {"--magnitude", "SHARE", "smaller changes do not count, e.g. 1%; default 0", ""},
            {"--all", "", "every difference between environments, not only the likeliest", ""},
        },
    .run = &run,
    .operands = +[] { return "add " + benchmark_names(); },
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::history_command
