#include "cli/measure/run_repeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <optional>

#include "cli/cell_names.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/results_view.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/own_binary.h"
#include "core/program.h"
#include "core/units.h"
#include "results/store/record_json.h"
#include "statistics/summary.h"

namespace assay::cli {
namespace {

/// The values of one cell, one per run.
struct Repeated {
  std::string cell;
  Value like;             ///< one of the values, for its unit
  std::string_view mark;  ///< model_mark() of its device
  std::vector<double> values;
};

/// The arguments of one run: those of this command without --repeat, and with an equal part of the
/// budget.
Result<std::vector<std::string>> words_of(const Arguments& arguments,
                                          const std::optional<double>& budget_seconds) {
  std::vector<std::string> words = {TRY(own_binary()), "run"};
  words.insert(words.end(), arguments.positionals.begin(), arguments.positionals.end());
  for (const auto& [name, value] : arguments.options) {
    if (name == "--repeat" || name == "--json" || name == "--color") continue;
    words.push_back(name);
    if (name == "--budget" && budget_seconds) {
      words.push_back(fmt::format("{:.3f}s", *budget_seconds));
    } else if (name != "--without-secret") {
      words.push_back(value);
    }
  }
  words.push_back("--json");
  return words;
}

void take(std::vector<Repeated>& all, const Record& record) {
  if (!record.value) return;
  const std::string cell = record.cell.id();
  auto at =
      std::find_if(all.begin(), all.end(), [&](const Repeated& one) { return one.cell == cell; });
  if (at == all.end())
    at = all.insert(all.end(), {cell, *record.value, model_mark(record.device.emulated), {}});
  at->values.push_back(record.value->median);
}

std::string value_text(const Repeated& repeated, double value) {
  Value shown = repeated.like;
  shown.median = value;
  return std::string(repeated.mark) + format_value(shown);
}

std::string table_of(const std::vector<Repeated>& all, std::size_t width, const Style& style) {
  Table table({{"cell"},
               {"runs", Column::Align::right},
               {"mean", Column::Align::right},
               {"deviation", Column::Align::right},
               {"least", Column::Align::right, 1},
               {"most", Column::Align::right, 1}});
  const CellNames cells = cell_names(all, [](const Repeated& one) { return one.cell; });
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Repeated& one = all[i];
    const auto [least, most] = std::minmax_element(one.values.begin(), one.values.end());
    const double n = static_cast<double>(one.values.size());
    const double mean = std::accumulate(one.values.begin(), one.values.end(), 0.0) / n;
    const double deviation = sample_deviation(one.values);
    table.add({cells.names[i], fmt::format("{}", one.values.size()), value_text(one, mean),
               one.values.size() > 1 ? fmt::format("{:.2f}%", 100 * deviation / mean) : "",
               value_text(one, *least), value_text(one, *most)});
  }
  return heading_text(cells, width) + table.render(width, style);
}

}  // namespace

int repeat_run(const Arguments& arguments, std::uint64_t times, Terminal& terminal) {
  std::optional<double> budget_seconds;  // of one run
  if (arguments.has("--budget")) {
    const auto all = parse_duration(arguments.get("--budget"));
    if (!all.ok()) return report(terminal, about("--budget", all.error()));
    budget_seconds = *all / static_cast<double>(times);
  }
  const auto words = words_of(arguments, budget_seconds);
  if (!words.ok()) return report(terminal, words.error());
  catch_interrupts();
  std::vector<Repeated> all;
  int status = exit_ok;
  const bool json = arguments.has("--json");
  for (std::uint64_t i = 0; i < times && !interrupt_requested(); ++i) {
    terminal.note(fmt::format("run {} of {}{}\n", i + 1, times,
                              budget_seconds ? " in " + format_seconds(*budget_seconds) : ""));
    ProgramStart start;
    start.words = *words;
    start.stop_requested = &interrupt_requested;
    start.line = [&](std::string_view line) {
      if (json) terminal.print(std::string(line) + "\n");
      const Json parsed = try_parse_json(line);
      if (!parsed.is_object() || !parsed.contains("status")) return;
      if (const auto record = record_from_json(parsed); record.ok()) take(all, *record);
    };
    start.error_line = [&](std::string_view line) {
      // Pass on progress and errors of each run; the tables are combined at the end.
      if (line.starts_with("[") || line.starts_with("assay:")) {
        terminal.note(std::string(line) + "\n");
      }
    };
    const auto end = run_program(start);
    if (!end.ok()) return report(terminal, end.error());
    if (status == exit_ok) status = end->status;
  }
  const std::string text =
      "\n" + table_of(all, static_cast<std::size_t>(terminal.width()), terminal.out_style());
  if (json) {
    terminal.note(text);
  } else {
    terminal.print(text);
  }
  return interrupt_requested() ? exit_interrupted : status;
}

}  // namespace assay::cli
