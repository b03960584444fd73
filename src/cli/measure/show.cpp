// assay show: results of a store as tables, JSON lines or CSV.
#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <unordered_map>

#include "cli/cell_filter.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/completion_words.h"
#include "cli/option_values.h"
#include "cli/records_csv.h"
#include "cli/results_view.h"
#include "cli/screen_text.h"
#include "core/json.h"
#include "results/store/record_json.h"
#include "results/store/store.h"

namespace assay::cli::show_command {
namespace {

struct Filter {
  CellFilter cells;
  std::string run;  ///< id, or "last", or empty: all
};

Result<std::vector<Record>> select(std::vector<Record> records, Filter filter) {
  if (filter.run == "last" && !records.empty()) filter.run = records.back().run;
  std::vector<Record> selected;
  for (Record& record : records) {
    if (!filter.run.empty() && record.run != filter.run) continue;
    if (TRY(matches(filter.cells, record.cell))) selected.push_back(std::move(record));
  }
  return selected;
}

/// The run's id, where it ran, and the program it is from.
std::string heading_of(const Record& record, const Style& style) {
  std::string text = style.bold("run " + record.run);
  if (!record.device.backend.empty()) text += " on " + device_text(record.device);
  if (!record.fingerprint.empty()) text += ", environment " + record.fingerprint;
  if (record.source) {
    text += fmt::format(", of {}{}{}", record.source->tool,
                        record.source->version.empty() ? "" : " ", record.source->version);
    if (!record.source->file.empty()) text += " in " + record.source->file;
  }
  return text;
}

/// A heading and tables for each run, in the order in which the runs began to write.
std::string text_of(std::vector<Record> records, const Terminal& terminal) {
  const Style style = terminal.out_style();
  const auto width = static_cast<std::size_t>(terminal.width());
  const std::string counts = counts_text(records);
  std::vector<std::vector<Record>> runs;
  std::unordered_map<std::string, std::size_t> places;
  for (Record& record : records) {
    const auto [place, fresh] = places.emplace(record.run, runs.size());
    if (fresh) runs.emplace_back();
    runs[place->second].push_back(std::move(record));
  }
  std::string text;
  for (const std::vector<Record>& of_run : runs) {
    text += wrapped(heading_of(of_run.front(), style), 0, width) + "\n\n";
    text += results_text(of_run, width, style);
  }
  return text + counts + "\n";
}

int run(const Arguments& arguments, Terminal& terminal) {
  std::string path = "assay-results";
  Filter filter{{arguments.get("--benchmark"), {}}, arguments.get("--run")};
  bool path_given = false;
  for (const std::string& word : arguments.positionals) {
    const auto setting = parse_axis_setting(word);
    std::error_code ignored;
    const bool is_store = !path_given && std::filesystem::exists(word, ignored);  // "tp=8"
    if (setting.ok() && !is_store && word.find('/') == std::string::npos) {
      filter.cells.settings.push_back(*setting);
    } else if (path_given) {
      return report(terminal,
                    {ErrorKind::usage, fmt::format("two stores given: {} and {}", path, word)});
    } else {
      path = word;
      path_given = true;
    }
  }
  std::error_code unknown;  // whether it is there: then reading it gives the reason
  if (!std::filesystem::exists(path, unknown) && !unknown) {
    return report(terminal, {ErrorKind::usage,
                             fmt::format("there is no store {}; give a folder that `assay run` or "
                                         "`assay import --out` wrote",
                                         path)});
  }
  if (arguments.has("--csv") && arguments.has("--json")) {
    return report(terminal, {ErrorKind::usage, "--csv and --json exclude each other"});
  }
  const auto price = given_price(arguments);
  if (!price.ok()) return report(terminal, price.error());
  if (arguments.has("--samples") && !arguments.has("--csv")) {
    return report(terminal, {ErrorKind::usage, "--samples needs --csv; --json has all samples"});
  }
  const bool whole = arguments.has("--json") || arguments.has("--samples");
  auto stored = read_records(path, whole ? Detail::whole : Detail::summary);
  if (!stored.ok()) {
    terminal.complain(stored.error().message + "; give the folder that `assay run --out` wrote");
    return exit_io;
  }
  for (const std::string& problem : stored->problems) terminal.complain(problem);
  auto records = select(std::move(stored->records), filter);
  if (!records.ok()) return report(terminal, records.error());
  for (Record& record : *records) add_costs(record, *price);
  if (arguments.has("--csv")) {
    terminal.print(arguments.has("--samples") ? samples_csv(*records) : records_csv(*records));
    return exit_ok;
  }
  if (!arguments.has("--json")) {
    terminal.print(text_of(std::move(*records), terminal));
    return exit_ok;
  }
  for (const Record& record : *records) {
    terminal.print(json_line(to_json(record)) + "\n");
  }
  return exit_ok;
}

const Command command = {
    .name = "show",
    .summary = "Show stored results",
    .positionals = "[STORE] [AXIS=VALUE[,VALUE...]]...",
    .most_positionals = 64,
    .details =
        R"(STORE is a folder that `assay run` wrote, ./assay-results if none is given, or one .jsonl
file. AXIS=VALUE keeps the cells with one of these values. Lines that cannot be read are
reported on standard error and skipped.

--csv writes a table for notebooks: a row for each result, axes and metrics as columns, units in the
header; with --samples a row for each sample.

--price adds what a million tokens cost to results with tokens/s, and what a training run costs if
its steps are known. Costs are computed where they are shown, never stored.

  assay show --run last
  assay show --run last --price 2.50
  assay show results/node7 --csv > results.csv
  assay show results/node7 --benchmark memory op=triad size=1GiB..8GiB*2

)",
    .options =
        {
            {"--benchmark", "NAME", "only this benchmark", &benchmark_names},
            {"--run", "ID", "only this run; last: the latest one", "last"},
            {"--csv", "", "CSV on standard output: a row for each result", ""},
            {"--samples", "", "with --csv: a row for each sample", ""},
            price_option(),
        },
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::show_command
