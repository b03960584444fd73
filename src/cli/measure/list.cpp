// assay list: benchmarks with their axes, and suites.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/suggest.h"
#include "core/units.h"
#include "measure/grid/benchmark.h"
#include "measure/suites/cells_of_target.h"
#include "measure/suites/suite.h"

namespace assay::cli::list_command {
namespace {

std::string_view kind_name(Axis::Kind kind) {
  switch (kind) {
    case Axis::Kind::size:
      return "size";
    case Axis::Kind::integer:
      return "integer";
    case Axis::Kind::shape:
      return "shape";
    case Axis::Kind::member:
      return "member";
    case Axis::Kind::text:
      return "text";
    case Axis::Kind::choice:
      break;
  }
  return "choice";
}

Json benchmark_json(const Benchmark& benchmark) {
  Json axes = Json::array();
  for (const Axis& axis : benchmark.axes()) {
    Json json = {{"name", axis.name},
                 {"description", axis.description},
                 {"kind", kind_name(axis.kind)},
                 {"defaults", axis.defaults}};
    if (!axis.choices.empty()) json["choices"] = axis.choices;
    json["allowed"] = allowed_values(axis);
    axes.push_back(std::move(json));
  }
  return {{"name", benchmark.name()}, {"summary", benchmark.summary()}, {"axes", std::move(axes)}};
}

/// The number of combinations of the axes' values, and how many of them are measured (`cells`).
Json suite_json(const Suite& suite, std::size_t cells, std::size_t combinations) {
  Json json = {{"name", suite.name},
               {"description", suite.description},
               {"cells", cells},
               {"combinations", combinations}};
  if (suite.budget_seconds) json["budget_seconds"] = *suite.budget_seconds;
  return json;
}

std::string benchmark_text(const Benchmark& benchmark, std::size_t width, const Style& style) {
  Table table({{"axis", Column::Align::left, 0},
               {"default", Column::Align::left, 0},
               {"allowed", Column::Align::left, 2},
               {"", Column::Align::left, 1}});
  for (const Axis& axis : benchmark.axes()) {
    table.add({axis.name, fmt::format("{}", fmt::join(axis.defaults, ",")), allowed_values(axis),
               axis.description});
  }
  const std::string heading =
      fmt::format("{}  {}", style.bold(benchmark.name()), benchmark.summary());
  return fmt::format("{}\n{}\n", wrapped(heading, 2, width), table.render(width, style));
}

/// Everything, or the benchmark or suite called `name`. Error: usage, if there is none.
Result<std::string> listing(const std::string& name, const Terminal& terminal, bool json) {
  const Style style = terminal.out_style();
  const auto width = static_cast<std::size_t>(terminal.width());
  Json document = {{"benchmarks", Json::array()}, {"suites", Json::array()}};
  std::string text;
  std::vector<std::string> names;
  const auto is_asked_for = [&](std::string_view listed) {
    names.emplace_back(listed);
    return name.empty() || name == listed;
  };
  for (const Benchmark* benchmark : benchmarks()) {
    if (!is_asked_for(benchmark->name())) continue;
    document["benchmarks"].push_back(benchmark_json(*benchmark));
    text += benchmark_text(*benchmark, width, style);
  }
  Table table({{"suite", Column::Align::left, 0},
               {"cells", Column::Align::right, 0},
               {"budget", Column::Align::right, 2},
               {"", Column::Align::left, 3}});
  for (const Suite& suite : TRY(built_in_suites())) {
    if (!is_asked_for(suite.name)) continue;
    const std::size_t cells = TRY(plan_of(suite, {})).cells.size();
    document["suites"].push_back(suite_json(suite, cells, TRY(cells_of(suite, {})).size()));
    table.add({suite.name, fmt::format("{}", cells),
               suite.budget_seconds ? format_clock(*suite.budget_seconds) : "", suite.description});
  }
  const bool suites = !document["suites"].empty();
  if (!suites && document["benchmarks"].empty()) {
    return Error{ErrorKind::usage, fmt::format("there is no benchmark or suite \"{}\"{}", name,
                                               did_you_mean(name, names))};
  }
  if (json) return document.dump(2) + "\n";
  return text + (suites ? table.render(width, style, 0) : "");
}

int run(const Arguments& arguments, Terminal& terminal) {
  const std::string name = arguments.positionals.empty() ? "" : arguments.positionals.front();
  const auto text = listing(name, terminal, arguments.has("--json"));
  if (!text.ok()) return report(terminal, text.error());
  terminal.print(*text);
  return exit_ok;
}

const Command command = {
    .name = "list",
    .summary = "List the benchmarks with their axes, and the suites",
    .positionals = "[NAME]",
    .least_positionals = 0,
    .most_positionals = 1,
    .details =
        R"(NAME is a benchmark or a suite; without it, all are listed. A suite's cells are those of `assay
run SUITE --dry-run`; combinations of axes that only repeat another cell are not among them.

  assay list
  assay list memory

)",
    .options = {},
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::list_command
