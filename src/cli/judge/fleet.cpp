// assay fleet: the odd nodes out among many that should be alike.
#include "judge/compare/fleet.h"

#include <fmt/format.h>

#include <cmath>
#include <mutex>
#include <span>

#include "cli/cell_names.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/judge/compare_operands.h"
#include "cli/judge/differences_view.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/units.h"
#include "judge/compare/emulated.h"
#include "judge/compare/sentences.h"

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
  json["farthest"] = Json::array();
  for (const auto& [node, cell] : fleet.farthest) {
    json["farthest"].push_back(json_of(cell));
    json["farthest"].back()["node"] = node;
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
  if (!table.empty()) text += cells.heading(width) + table.render(width, style);
  if (shown < node.cells.size()) {
    text += fmt::format("  and {} more cells: --all\n", node.cells.size() - shown);
  }
  if (!node.differences.empty()) {
    text += "  differences from the typical node (A), likeliest cause first\n";
    text += differences_text(node.differences, width, style);
  }
  return text + "\n";
}

/// A sentence for each node, odd or not.
std::string farthest_text(const Fleet& fleet, bool all, const Style& style) {
  if (fleet.farthest.empty()) return "";
  std::string text = style.bold("Every node where it is farthest from the fleet") + "\n";
  const std::size_t shown =
      all ? fleet.farthest.size() : std::min(fleet.farthest.size(), most_nodes);
  for (std::size_t i = 0; i < shown; ++i) {
    text += "  " + node_sentence(fleet.farthest[i].first, fleet.farthest[i].second) + "\n";
  }
  if (shown < fleet.farthest.size()) {
    text += fmt::format("  and {} more nodes: --all\n", fleet.farthest.size() - shown);
  }
  return text;
}

std::string text_of(const Fleet& fleet, bool all, std::size_t width, const Style& style) {
  std::string text =
      std::string(fleet.emulated ? of_a_model : "") +
      style.bold(fleet.odd.empty()
                     ? fmt::format("All {} nodes are alike", fleet.nodes)
                     : fmt::format("{} of {} nodes {} odd", fleet.odd.size(), fleet.nodes,
                                   fleet.odd.size() == 1 ? "is" : "are")) +
      fmt::format(
          " in {} series: beyond {:.2g}%, with a chance below {:.2g}% that a sound fleet has "
          "any odd node.\n\n",
          fleet.series, 100 * fleet.rule.margin, 100 * fleet.rule.alpha);
  const std::size_t shown = all ? fleet.odd.size() : std::min(fleet.odd.size(), most_nodes);
  for (std::size_t i = 0; i < shown; ++i) text += node_text(fleet.odd[i], all, width, style);
  if (shown < fleet.odd.size()) {
    text += fmt::format("and {} more nodes: --all\n", fleet.odd.size() - shown);
  }
  text += farthest_text(fleet, all, style);
  for (const std::string& problem : fleet.problems) text += "note: " + problem + "\n";
  return text;
}

int run(const Arguments& arguments, Terminal& terminal) {
  FleetRule rule;
  const auto margin = given_margin(arguments);
  if (!margin.ok()) return report(terminal, margin.error());
  rule.margin = margin->value_or(rule.margin);
  std::mutex mutex;
  const auto progress = [&](std::size_t read, std::size_t of) {
    if (!terminal.interactive() || (read % 16 != 0 && read != of)) return;
    const std::lock_guard lock(mutex);
    terminal.rewrite_line(fmt::format("{} of {} nodes read{}", read, of, read == of ? "\n" : ""));
  };
  const auto fleet = judge_fleet(arguments.positionals.front(), rule, progress);
  if (!fleet.ok()) return report(terminal, fleet.error());
  terminal.print(arguments.has("--json")
                     ? json_of(*fleet).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"
                     : text_of(*fleet, arguments.has("--all"),
                               static_cast<std::size_t>(terminal.width()), terminal.out_style()));
  return fleet->odd.empty() ? exit_ok : exit_differs;
}

const Command command = {
    .name = "fleet",
    .summary = "Find the odd nodes out among many that should be alike",
    .positionals = "DIR",
    .least_positionals = 1,
    .most_positionals = 1,
    .details =
        R"(DIR holds a folder for each node: a store that `assay run --out DIR/NODE` wrote, or files of
another program. A node is odd if it is farther than the margin from the fleet's median and
that is significant: medians and MADs, so that odd nodes do not mask each other, and Holm's
correction over all nodes and cells. A sentence for each node, odd or not, says in which cell it
is farthest from the fleet, by how much, and from which difference on it would have been odd
there. Exit status: 0 no node is odd, 1 some node is odd.

  assay fleet results/rack12
  assay fleet results/rack12 --margin 5% --json | jq -r '.odd[].node'

)",
    .options =
        {
            {"--margin", "SHARE", "distances below this do not matter, e.g. 1%; default 2%", ""},
            {"--all", "", "every node and odd cell, not only the first", ""},
        },
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::fleet_command
