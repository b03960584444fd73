// assay list: the names of suites and benchmarks, or the details of one name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/completion_words.h"
#include "cli/results_view.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/suggest.h"
#include "core/units.h"
#include "judge/report/reference.h"
#include "measure/grid/benchmark.h"
#include "measure/suites/cells_of_target.h"
#include "measure/suites/suite.h"
#include "results/store/record_json.h"

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
      fmt::format("{}  benchmark: {}", style.bold(benchmark.name()), benchmark.summary());
  return fmt::format("{}\n{}", wrapped(heading, 2, width), table.render(width, style));
}

/// The suite's size and what each of its entries sets.
std::string suite_text(const Suite& suite, std::size_t cells, std::size_t width,
                       const Style& style) {
  const std::string heading =
      fmt::format("{}  suite: {}", style.bold(suite.name), suite.description);
  const std::string budget =
      suite.budget_seconds ? " in " + format_clock(*suite.budget_seconds) : "";
  const std::string size = fmt::format("{} cell{}{}; `assay run {} --dry-run` names them", cells,
                                       cells == 1 ? "" : "s", budget, suite.name);
  Table table({{"measures", Column::Align::left, 0}, {"with", Column::Align::left, 0}});
  for (const SuiteEntry& entry : suite.entries) {
    std::vector<std::string> words =
        entry.command ? entry.command->words : std::vector<std::string>();
    for (const auto& [setting, line] : entry.settings) {
      words.push_back(fmt::format("{}={}", setting.axis, setting.values));
    }
    table.add({entry.command ? entry.command->name : entry.benchmark,
               fmt::format("{}", fmt::join(words, " "))});
  }
  return fmt::format("{}\n  {}\n{}", wrapped(heading, 2, width), wrapped(size, 2, width),
                     table.render(width, style));
}

/// A line for each name.
std::string overview(const std::vector<Suite>& suites, std::size_t width, const Style& style) {
  Table of_suites({{"suite"}, {""}}), of_benchmarks({{"benchmark"}, {""}});
  for (const Suite& suite : suites) of_suites.add({suite.name, suite.description});
  for (const Benchmark* benchmark : benchmarks()) {
    of_benchmarks.add({std::string(benchmark->name()), std::string(benchmark->summary())});
  }
  return of_suites.render(width, style, 0) + "\n" + of_benchmarks.render(width, style, 0) +
         "\n`assay list NAME` shows what a suite measures, and the axes of a benchmark.\n"
         "`assay list references` names the figures that others reported.\n";
}

/// Everything as JSON.
Result<std::string> listing_json(const std::vector<Suite>& suites, const std::string& name) {
  Json document = {{"benchmarks", Json::array()}, {"suites", Json::array()}};
  for (const Benchmark* benchmark : benchmarks()) {
    if (!name.empty() && benchmark->name() != name) continue;
    document["benchmarks"].push_back(benchmark_json(*benchmark));
  }
  for (const Suite& suite : suites) {
    if (!name.empty() && suite.name != name) continue;
    document["suites"].push_back(
        suite_json(suite, TRY(plan_of(suite, {})).cells.size(), TRY(cells_of(suite, {})).size()));
  }
  return document.dump(2) + "\n";
}

/// What the suite and the benchmark called `name` measure.
Result<std::string> details(const std::vector<Suite>& suites, const std::string& name,
                            std::size_t width, const Style& style) {
  std::string text;
  for (const Suite& suite : suites) {
    if (suite.name != name) continue;
    text = suite_text(suite, TRY(plan_of(suite, {})).cells.size(), width, style);
  }
  const Benchmark* const benchmark = find_benchmark(name);
  if (benchmark == nullptr) return text;
  if (!text.empty()) {
    const std::string both =
        fmt::format("`assay run {0}` measures this suite; AXIS=VALUE replaces its values", name);
    text += "  " + wrapped(both, 2, width) + "\n\n";
  }
  return text + benchmark_text(*benchmark, width, style);
}

Json reference_json(const report::Reference& reference) {
  Json json = {{"name", reference.name},         {"who", reference.who},
               {"date", reference.date},         {"source", reference.source},
               {"devices", reference.devices()}, {"figures", reference.figures()}};
  return json;
}

/// A line for each reference.
std::string references_text(const std::vector<report::Reference>& references, std::size_t width,
                            const Style& style) {
  Table table({{"reference"},
               {"who reported it"},
               {"date"},
               {"devices", Column::Align::left, 1},
               {"figures", Column::Align::right}});
  for (const report::Reference& one : references) {
    table.add({one.name, one.who, one.date, fmt::format("{}", fmt::join(one.devices(), ", ")),
               fmt::format("{}", one.figures())});
  }
  return table.render(width, style, 0) +
         "\n`assay list NAME` shows the figures, `assay report --beside NAME` draws them beside "
         "yours.\n";
}

/// Where the figures are from, and all of them, device by device.
std::string reference_text(const report::Reference& reference, std::size_t width,
                           const Style& style) {
  const std::string heading =
      fmt::format("{}  reference: reported by {}, {}; source: {}", style.bold(reference.name),
                  reference.who, reference.date, reference.source);
  std::string text = wrapped(heading, 2, width) + "\n\n";
  for (const std::string& device : reference.devices()) {
    text += style.bold(device) + "\n\n" + results_text(reference.of_device(device), width, style);
  }
  return text;
}

/// The references, or the one called `name`; empty if that is none.
Result<std::string> references_listing(const std::string& name, std::size_t width,
                                       const Style& style, bool json) {
  const std::vector<report::Reference> references = TRY(report::built_in_references());
  if (name == "references" && !json) return references_text(references, width, style);
  Json document = {{"references", Json::array()}};
  for (const report::Reference& one : references) {
    if (one.name != name && name != "references") continue;
    if (!json) return reference_text(one, width, style);
    document["references"].push_back(reference_json(one));
    if (name == "references") continue;
    Json& records = document["references"].back()["records"] = Json::array();
    for (const Record& record : one.records) records.push_back(to_json(record));
  }
  return document["references"].empty() ? std::string() : document.dump(2) + "\n";
}

/// Everything, or the benchmark or suite called `name`. Error: usage, if there is none.
Result<std::string> listing(const std::string& name, const Terminal& terminal, bool json) {
  const Style style = terminal.out_style();
  const auto width = static_cast<std::size_t>(terminal.width());
  const std::vector<Suite> suites = TRY(built_in_suites());
  std::vector<std::string> names;
  for (const Suite& suite : suites) names.push_back(suite.name);
  for (const Benchmark* benchmark : benchmarks()) names.emplace_back(benchmark->name());
  if (!name.empty() && std::ranges::count(names, name) == 0) {
    std::string of_others = TRY(references_listing(name, width, style, json));
    if (!of_others.empty()) return of_others;
    names.emplace_back("references");
    for (const auto& one : TRY(report::built_in_references())) names.push_back(one.name);
    return Error{ErrorKind::usage, fmt::format("there is no benchmark, suite or reference \"{}\"{}",
                                               name, did_you_mean(name, names))};
  }
  if (json) return listing_json(suites, name);
  return name.empty() ? overview(suites, width, style) : details(suites, name, width, style);
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
    .summary = "List the suites and benchmarks, or describe one; list references",
    .positionals = "[NAME]",
    .least_positionals = 0,
    .most_positionals = 1,
    .details =
        R"(Without NAME, all suites and benchmarks are listed, a line each. For a suite, NAME shows what it
measures, for a benchmark its axes with their default and allowed values. A suite's cells are those
of `assay run SUITE --dry-run`; combinations of axes that only repeat another cell are not among
them.

References are figures that others reported, with who, when and where: "references" names them, and
the NAME of one shows its figures. `assay report --beside NAME` draws them beside yours.

  assay list
  assay list memory
  assay list references
  assay list silybench-h100

)",
    .options = {},
    .run = &run,
    .operands = &listed_names,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::list_command
