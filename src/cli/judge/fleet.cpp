// assay fleet: finds the outliers among nodes that should be alike.
#include "judge/compare/fleet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <span>

#include "cli/cell_names.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/compare_operands.h"
#include "cli/judge/differences_view.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/mutex.h"
#include "core/units.h"
#include "core/write_file.h"
#include "judge/compare/emulated.h"
#include "judge/compare/sentences.h"
#include "judge/report/fleet_document.h"
#include "judge/report/number_text.h"
#include "judge/report/report.h"
#include "measure/sampling/runner.h"

namespace assay::cli::fleet_command {
namespace {

constexpr std::size_t most_cells = 10;
constexpr std::size_t most_nodes = 20;

Json json_of(const NodeCell& cell) {
  return {{"cell", cell.key.cell},
          {"metric", cell.key.metric},
          {"unit", cell.unit},
          {"value", cell.value},
          {"fleet_median", cell.median},
          {"time_ratio", cell.slower},
          {"detectable_ratio", std::isfinite(cell.detectable) ? Json(cell.detectable) : Json()},
          {"p", cell.p}};
}

Json json_of(const std::pair<std::string, NodeCell>& entry) {
  Json json = json_of(entry.second);
  json["node"] = entry.first;
  return json;
}

Json json_of(const NodeGroup& group) {
  return {{"nodes", group.nodes}, {"value", group.value}};
}

Json json_of(const SplitCell& cell) {
  return {{"cell", cell.key.cell},
          {"metric", cell.key.metric},
          {"unit", cell.unit},
          {"fast", json_of(cell.fast)},
          {"slow", json_of(cell.slow)},
          {"time_ratio", cell.slower},
          {"p", cell.p}};
}

Json json_of(const OddNode& node) {
  Json json;
  json["node"] = node.name;
  json["cells"] = Json::array();
  for (const NodeCell& cell : node.cells) json["cells"].push_back(json_of(cell));
  json["faults"] = node.faults;
  json["missing"] = node.missing;
  json["differences"] = to_json(node.differences);
  return json;
}

Json json_of(const Fleet& fleet) {
  Json json;
  json["nodes"] = fleet.nodes;
  if (fleet.emulated) json["emulated"] = true;
  json["series"] = fleet.series;
  json["margin"] = fleet.rule.margin;
  json["alpha"] = fleet.rule.alpha;
  json["typical"] = fleet.typical;
  json["odd"] = Json::array();
  for (const OddNode& node : fleet.odd) json["odd"].push_back(json_of(node));
  json["groups"] = Json::array();
  for (const SplitCell& cell : fleet.splits) json["groups"].push_back(json_of(cell));
  json["open"] = Json::array();
  for (const auto& entry : fleet.open) json["open"].push_back(json_of(entry));
  json["farthest"] = Json::array();
  for (const auto& entry : fleet.farthest) json["farthest"].push_back(json_of(entry));
  json["rows"] = Json::array();
  for (const NodeRow& row : fleet.rows) {
    Json cells = Json::array();
    for (const NodeCell& cell : row.cells) cells.push_back(json_of(cell));
    json["rows"].push_back({{"node", row.name}, {"cells", std::move(cells)}});
  }
  json["problems"] = fleet.problems;
  return json;
}

/// The first few items of a list, and their total number.
std::string list_text(const char* label, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(items.size(), 3); ++i) {
    text += fmt::format("  {}: {}\n", label, items[i]);
  }
  if (items.size() > 3) text += fmt::format("  and {} more {}\n", items.size() - 3, label);
  return text;
}

std::string node_text(const OddNode& node, bool all, std::size_t width, const Style& style) {
  std::size_t slow = 0;
  for (const NodeCell& cell : node.cells) slow += cell.slower > 1 ? 1 : 0;
  std::string text = style.bold(node.name);
  if (!node.cells.empty()) {
    text += fmt::format(": slower in {} cell{}, faster in {}", slow, slow == 1 ? "" : "s",
                        node.cells.size() - slow);
  }
  text += "\n" + list_text("failed", node.faults) + list_text("missing", node.missing);
  Table table({{"cell"},
               {"metric", Column::Align::left, 1},
               {"node", Column::Align::right},
               {"fleet", Column::Align::right},
               {"time against fleet", Column::Align::right},
               {"detectable", Column::Align::right, 2}});
  const std::size_t shown = all ? node.cells.size() : std::min(node.cells.size(), most_cells);
  const CellNames cells = cell_names(std::span(node.cells).first(shown),
                                     [](const NodeCell& cell) { return cell.key.cell; });
  for (std::size_t i = 0; i < shown; ++i) {
    const NodeCell& cell = node.cells[i];
    table.add({cells.names[i], cell.key.metric, format_in(cell.value, cell.unit),
               format_in(cell.median, cell.unit), fmt::format("{:+.1f}%", 100 * (cell.slower - 1)),
               fmt::format("{:.1f}%", 100 * (cell.detectable - 1))});
  }
  if (!table.empty()) text += heading_text(cells, width) + table.render(width, style);
  if (shown < node.cells.size()) {
    text += fmt::format("  and {} more cells: --all\n", node.cells.size() - shown);
  }
  if (!node.differences.empty()) {
    text += "  differences from the typical node (A), likeliest cause first\n";
    text += differences_text(node.differences, width, style);
  }
  return text + "\n";
}

/// A sentence for each node and its cell, with the axes that all these cells share named first.
std::string sentences_text(std::span<const std::pair<std::string, NodeCell>> entries,
                           std::size_t width) {
  const CellNames cells =
      cell_names(entries, [](const auto& entry) { return entry.second.key.cell; });
  std::string text = heading_text(cells, width);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    NodeCell cell = entries[i].second;
    cell.key.cell = cells.names[i];
    text += "  " + node_sentence(entries[i].first, cell) + "\n";
  }
  return text;
}

/// The cells that open_text() shows.
std::span<const std::pair<std::string, NodeCell>> shown_open(const Fleet& fleet, bool all) {
  return std::span(fleet.open)
      .first(all ? fleet.open.size() : std::min(fleet.open.size(), most_cells));
}

/// A sentence for each node, outlier or not, unless open_text() has it.
std::string farthest_text(const Fleet& fleet, bool all, std::size_t width, const Style& style) {
  std::vector<std::pair<std::string, NodeCell>> nodes = fleet.farthest;
  std::erase_if(nodes, [&](const auto& node) {
    return std::ranges::any_of(shown_open(fleet, all), [&](const auto& open) {
      return open.first == node.first && open.second.key == node.second.key;
    });
  });
  if (nodes.empty()) return "";
  const std::size_t shown = all ? nodes.size() : std::min(nodes.size(), most_nodes);
  std::string text = style.bold(nodes.size() < fleet.farthest.size()
                                    ? "The other nodes, each where it is farthest from the fleet"
                                    : "Every node where it is farthest from the fleet") +
                     "\n" + sentences_text(std::span(nodes).first(shown), width);
  if (shown < nodes.size()) {
    text += fmt::format("  and {} more nodes: --all\n", nodes.size() - shown);
  }
  return text;
}

/// The cells in which the same nodes are slower than the same others, under these nodes' names.
std::string splits_text(const Fleet& fleet, bool all, std::size_t width, const Style& style) {
  using Division = std::pair<std::vector<std::string>, std::vector<std::string>>;
  std::map<Division, std::vector<SplitCell>> divisions;
  for (const SplitCell& cell : fleet.splits) {
    divisions[{cell.fast.nodes, cell.slow.nodes}].push_back(cell);
  }
  std::string text;
  for (const auto& [nodes, split] : divisions) {
    text += style.bold("Two groups of nodes") + "\n";
    for (const auto& [label, names] : {std::pair{"fast", &nodes.first}, {"slow", &nodes.second}}) {
      const std::string list = fmt::format("{}: {}", names->size(), fmt::join(*names, ", "));
      text += fmt::format("  the {} {}\n", label, wrapped(list, 11, width));
    }
    Table table({{"cell"},
                 {"metric", Column::Align::left, 1},
                 {"fast", Column::Align::right},
                 {"slow", Column::Align::right},
                 {"time of slow against fast", Column::Align::right}});
    const std::size_t shown = all ? split.size() : std::min(split.size(), most_cells);
    const CellNames cells = cell_names(std::span(split).first(shown),
                                       [](const SplitCell& cell) { return cell.key.cell; });
    for (std::size_t i = 0; i < shown; ++i) {
      const SplitCell& cell = split[i];
      table.add({cells.names[i], cell.key.metric, format_in(cell.fast.value, cell.unit),
                 format_in(cell.slow.value, cell.unit),
                 fmt::format("{:+.1f}%", 100 * (cell.slower - 1))});
    }
    text += heading_text(cells, width) + table.render(width, style);
    if (shown < split.size()) {
      text += fmt::format("  and {} more cells: --all\n", split.size() - shown);
    }
    text += "\n";
  }
  return text;
}

std::string open_text(const Fleet& fleet, bool all, std::size_t width, const Style& style) {
  if (fleet.open.empty()) return "";
  const auto shown = shown_open(fleet, all);
  std::string text = style.bold("Cells too noisy to tell, with the node farthest from the fleet") +
                     "\n" + sentences_text(shown, width);
  if (shown.size() < fleet.open.size()) {
    text += fmt::format("  and {} more cells: --all\n", fleet.open.size() - shown.size());
  }
  constexpr std::string_view next =
      "Next: measure these cells again on all nodes, since a node's value is the median of its "
      "runs. If the nodes scatter as before, `assay diff NODE NODE` shows what differs between two "
      "of them.";
  return text + "  " + wrapped(next, 2, width) + "\n\n";
}

/// The result in one sentence, which agrees with the exit status.
std::string headline(const Fleet& fleet) {
  const std::string odd = fmt::format("{} of {} nodes {}", fleet.odd.size(), fleet.nodes,
                                      fleet.odd.size() == 1 ? "is an outlier" : "are outliers");
  const std::string split = fmt::format("nodes fall into two groups in {} of {} series",
                                        fleet.splits.size(), fleet.series);
  if (!fleet.splits.empty()) {
    return fleet.odd.empty() ? fmt::format("The {} {}", fleet.nodes, split)
                             : fmt::format("{}, and the {}", odd, split);
  }
  if (!fleet.odd.empty()) return fmt::format("{} in {} series", odd, fleet.series);
  if (!fleet.open.empty()) {
    return fmt::format("Too noisy to tell whether all {} nodes are alike in {} of {} series",
                       fleet.nodes, fleet.open.size(), fleet.series);
  }
  return fmt::format("All {} nodes are alike in {} series", fleet.nodes, fleet.series);
}

/// Nodes by cells; by default only the cells in which some node is beyond the margin.
std::string table_text(const Fleet& fleet, bool all, std::size_t width, const Style& style) {
  const report::Table cells = report::fleet_table(fleet);
  std::vector<Column> columns;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < cells.columns.size(); ++i) {
    if (cells.columns[i].detail && !all) continue;
    shown.push_back(i);
    columns.push_back({cells.columns[i].title, i < 2 ? Column::Align::left : Column::Align::right,
                       i == 1 ? 1 : 0});
  }
  Table table(std::move(columns));
  for (const auto& row : cells.rows) {
    std::vector<std::string> texts;
    for (const std::size_t i : shown) texts.push_back(report::text_of(cells, row, i));
    table.add(std::move(texts));
  }
  std::string text = style.bold("Time of each node against the fleet's median") + "\n" +
                     heading_text(cells.shared, width) + table.render(width, style);
  if (shown.size() < cells.columns.size()) {
    text += fmt::format("  and {} with no node beyond {:.2g}%: --all\n",
                        report::counted(cells.columns.size() - shown.size(), "cell"),
                        100 * fleet.rule.margin);
  }
  return text + "\n";
}

std::string text_of(const Fleet& fleet, bool table, bool all, std::size_t width,
                    const Style& style) {
  std::string text =
      std::string(fleet.emulated ? of_a_model : "") + style.bold(headline(fleet)) +
      fmt::format(
          ": beyond {:.2g}%, with a chance below {:.2g}% that a sound fleet shows any outlier.\n\n",
          100 * fleet.rule.margin, 100 * fleet.rule.alpha);
  if (table) text += table_text(fleet, all, width, style);
  text += splits_text(fleet, all, width, style);
  const std::size_t shown = all ? fleet.odd.size() : std::min(fleet.odd.size(), most_nodes);
  for (std::size_t i = 0; i < shown; ++i) text += node_text(fleet.odd[i], all, width, style);
  if (shown < fleet.odd.size()) {
    text += fmt::format("and {} more nodes: --all\n", fleet.odd.size() - shown);
  }
  text += open_text(fleet, all, width, style);
  text += farthest_text(fleet, all, width, style);
  for (const std::string& problem : fleet.problems) text += "note: " + problem + "\n";
  return text;
}

int status_of(const Fleet& fleet) {
  if (!fleet.odd.empty() || !fleet.splits.empty()) return exit_differs;
  return fleet.open.empty() ? exit_ok : exit_inconclusive;
}

int run(const Arguments& arguments, Terminal& terminal) {
  FleetRule rule;
  const auto margin = given_margin(arguments);
  if (!margin.ok()) return report(terminal, margin.error());
  rule.margin = margin->value_or(rule.margin);
  Mutex mutex;
  const auto progress = [&](std::size_t read, std::size_t of) {
    if (!terminal.interactive() || (read % 16 != 0 && read != of)) return;
    const MutexLock lock(mutex);
    terminal.rewrite_line(fmt::format("{} of {} nodes read{}", read, of, read == of ? "\n" : ""));
  };
  if (arguments.has("--csv") && arguments.has("--json")) {
    return report(terminal, {ErrorKind::usage, "--csv and --json exclude each other"});
  }
  const std::string file = arguments.get("--output");
  if (const Status writable = file.empty() ? Status() : check_writable(file); !writable.ok()) {
    return report(terminal, writable.error());
  }
  const std::vector<std::filesystem::path> folders(arguments.positionals.begin(),
                                                   arguments.positionals.end());
  const auto fleet = judge_fleet(folders, rule, progress);
  if (!fleet.ok()) return report(terminal, fleet.error());
  const auto document = [&] { return report::fleet_document(*fleet, headline(*fleet), utc_now()); };
  if (!file.empty()) {
    const Status written = write_file(file, report::to_html(document()));
    if (!written.ok()) return report(terminal, written.error());
  }
  terminal.print(arguments.has("--json") ? json_line(json_of(*fleet)) + "\n"
                 : arguments.has("--csv")
                     ? report::to_csv(document())
                     : text_of(*fleet, arguments.has("--table"), arguments.has("--all"),
                               static_cast<std::size_t>(terminal.width()), terminal.out_style()));
  return status_of(*fleet);
}

const Command command = {
    .name = "fleet",
    .summary = "Find the outliers among nodes that should be alike",
    .group = CommandGroup::diagnose,
    .positionals = "DIR | NODE NODE...",
    .least_positionals = 1,
    .most_positionals = 4096,
    .details =
        R"(DIR holds a folder for each node: a store that `assay run --out DIR/NODE` wrote, or files of
another program. Or give the nodes' folders themselves. A node is an outlier if it is farther than the margin from the fleet's median and
that is significant: medians and MADs, so that outliers do not mask each other, and Holm's
correction over all nodes and cells. A sentence for each node says in which cell it is farthest
from the fleet, by how much, and which difference would have been significant there. Where the
nodes fall into two groups, none is an outlier: the groups are named. A cell is too noisy if a node
lies beyond the margin there, but only differences beyond five margins would be significant. Exit
status: 0 all nodes are alike, 1 some node is an outlier or there are two groups, 6 some cell is
too noisy to tell.

--table shows nodes by cells, each as the change of time against the fleet's median: only cells in
which some node is beyond the margin, with --all every cell. --csv writes all of it for a price list
or an acceptance, -o a page with a heat map and the table.

  assay fleet results/rack12
  assay fleet results/rack12 --table -o rack12.html
  assay fleet results/rack12 --csv > rack12.csv
  assay fleet results/node1 results/node2 results/node3 results/node4
  assay fleet results/rack12 --margin 5% --json | jq -r '.odd[].node'

)",
    .options =
        {
            {"--margin", "SHARE", "distances below this do not matter, e.g. 1%; default 2%", ""},
            {"--all", "", "every node and cell, not only the first", ""},
            {"--table", "", "also a table of nodes by cells, relative to the fleet's median", ""},
            {"--csv", "", "only that table, of all cells, as CSV on standard output", ""},
            {"--output", "FILE", "also write an HTML page with a heat map, also -o", "file", false,
             "--out"},
        },
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::fleet_command
