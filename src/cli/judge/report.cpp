// assay report: one environment, or a comparison of several, as a file to share.
#include "judge/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/compare_operands.h"
#include "cli/completion_words.h"
#include "cli/judge/report.h"
#include "cli/option_values.h"
#include "cli/results_store.h"
#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "core/suggest.h"
#include "core/write_file.h"
#include "judge/compare/costs_beside.h"
#include "judge/compare/emulated.h"
#include "judge/compare/operands.h"
#include "judge/report/llama_bench.h"
#include "judge/report/reference.h"
#include "measure/sampling/runner.h"
#include "ranks/environments/shell_words.h"
#include "results/store/campaign_reader.h"

namespace assay::cli::report_command {
namespace {

namespace fs = std::filesystem;

struct Format {
  std::string_view name;
  Result<std::string> (*write)(report::ReportInput);
};
template <std::string (*write)(const report::Document&)>
Result<std::string> write_document(report::ReportInput input) {
  return write(report::make_document(std::move(input)));
}
// NOLINTNEXTLINE(performance-unnecessary-value-param): as the other formats, which keep it
Result<std::string> write_llama_bench(report::ReportInput input) {
  return report::to_llama_bench(input);
}
constexpr std::array<Format, 4> formats = {{{"html", &write_document<report::to_html>},
                                            {"md", &write_document<report::to_markdown>},
                                            {"csv", &write_document<report::to_csv>},
                                            {"llama-bench", &write_llama_bench}}};

/// The format by name, or by the extension of the file; Markdown for standard output.
Result<const Format*> format_of(const Arguments& arguments) {
  std::string name = arguments.get("--format");
  const std::string file = arguments.get("--output");
  if (name.empty()) name = file.empty() ? "md" : fs::path(file).extension().string();
  if (!name.empty() && name.front() == '.') name.erase(0, 1);
  for (const Format& format : formats) {
    if (format.name == name) return &format;
  }
  return Error{ErrorKind::usage,
               fmt::format("no format \"{}\"; allowed: html, md, csv, llama-bench, by --format or "
                           "the ending of the file given with -o",
                           name)};
}

/// Marks environments from a model in their name, which every chart and table shows.
void mark_models(std::vector<report::Environment>& environments) {
  for (report::Environment& environment : environments) {
    if (environment.results.emulated()) environment.results.name += " (model)";
  }
}

/// Shortens paths to their last parts where these differ: "host" for "study/host".
void shorten_names(std::vector<report::Environment>& environments) {
  std::vector<std::string> names;
  for (const report::Environment& environment : environments) {
    const fs::path path = fs::path(environment.results.name).lexically_normal();
    const fs::path last = path.has_filename() ? path : path.parent_path();
    names.push_back(last.filename().string());
  }
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) environments[i].results.name = names[i];
  }
}

Result<report::ReportInput> read_alone(const std::string& operand) {
  report::ReportInput input;
  input.environments.emplace_back();
  report::Environment& only = input.environments.back();
  only.results = TRY(load_result_set(operand, &only.records));
  TRY(refuse_mixture({&only.results}));
  shorten_names(input.environments);
  mark_models(input.environments);
  return input;
}

/// What is drawn beside the others: a reference by name, an environment for each of its devices, or
/// results in a folder or file.
Result<std::vector<report::Environment>> read_beside(const std::string& operand) {
  std::error_code unknown;
  if (!fs::exists(operand, unknown)) {
    std::vector<std::string> names;
    for (const report::Reference& reference : TRY(report::built_in_references())) {
      names.push_back(reference.name);
      if (reference.name != operand) continue;
      std::vector<report::Environment> beside;
      for (const std::string& device : reference.devices()) {
        std::vector<Record> records = reference.of_device(device);
        beside.push_back({result_set_of(records, reference.label(device)), std::move(records)});
      }
      return beside;
    }
    return Error{ErrorKind::usage,
                 fmt::format("there are no results {} and no such reference{}; `assay list "
                             "references` names those",
                             operand, did_you_mean(operand, names))};
  }
  std::vector<report::Environment> beside(1);
  beside[0].results = TRY(load_result_set(operand, &beside[0].records));
  TRY(refuse_mixture({&beside[0].results}));
  shorten_names(beside);
  mark_models(beside);
  return beside;
}

/// Adds results that are drawn beside the others and take no part in verdicts.
Status add_beside(const std::string& operand, report::ReportInput& input) {
  for (report::Environment& environment : TRY(read_beside(operand))) {
    if (input.environments.size() >= report::most_environments) {
      return Error{ErrorKind::usage, fmt::format("more than {} environments are too many for one "
                                                 "report",
                                                 report::most_environments)};
    }
    input.environments.push_back(std::move(environment));
    ++input.beside;
  }
  return {};
}

/// The conclusions in study.json, which `assay campaign` wrote; null if there are none or they
/// cannot be read.
Json read_study(const fs::path& campaign) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  const auto text = read_operand(campaign / "study.json", most_bytes);
  if (!text.ok()) return {};
  auto json = parse_json(*text);
  return json.ok() ? std::move(json).value() : Json();
}

/// The environments of a comparison, and the result of measuring A twice.
struct Contrast {
  std::size_t a = 0, b = 0;
  std::optional<ResultSet> control;
  VerdictRule rule;
};

/// The folder in which a campaign keeps the second measurement of `environment`.
std::string control_beside(const std::string& environment) {
  const fs::path folder(environment);
  return (folder.parent_path() / control_of(folder.filename().string())).string();
}

/// Adds what the page says about itself.
void describe(const std::vector<std::string>& words, bool of_campaign, report::ReportInput& input) {
  input.time = utc_now();
  input.operands = shell_words(words);
  if (of_campaign) input.campaign = input.operands;
}

Result<report::ReportInput> read_compared(const std::vector<std::string>& words,
                                          const std::optional<double>& margin) {
  report::ReportInput input;
  std::vector<std::string>
      operands;  // the environments; a campaign lists its baseline several times
  const auto place = [&](const std::string& operand, ResultSet& results,
                         std::vector<Record>& records) {
    const auto at = std::find(operands.begin(), operands.end(), operand);
    if (at != operands.end()) return static_cast<std::size_t>(at - operands.begin());
    operands.push_back(operand);
    input.environments.push_back({std::move(results), std::move(records)});
    return operands.size() - 1;
  };
  std::vector<Contrast> contrasts;
  for (const auto& [a, b] : TRY(pairs_of_operands(words))) {
    Operands loaded = TRY(load_operands(a, b, true));
    Contrast contrast;
    contrast.a = place(a, loaded.a, loaded.records_a);
    // Results that are given twice count as two environments, as in `assay compare`.
    contrast.b = place(a == b ? b + " again" : b, loaded.b, loaded.records_b);
    contrast.control = std::move(loaded.control);
    contrast.rule = rule_of(margin, loaded);
    if (loaded.terms) {
      input.description = loaded.terms->description;
      input.subject = loaded.terms->subject;
    }
    input.repeated = contrast.b != contrast.a && b == control_beside(a);
    contrasts.push_back(std::move(contrast));
    if (input.environments.size() > report::most_environments) {
      return Error{ErrorKind::usage,
                   fmt::format("more than {} environments are too many for one report; give two "
                               "of them, A and B",
                               report::most_environments)};
    }
  }
  if (words.size() == 1) input.study = read_study(words[0]);
  shorten_names(input.environments);
  mark_models(input.environments);
  for (const Contrast& contrast : contrasts) {
    input.comparisons.push_back(
        compare(input.environments[contrast.a].results, input.environments[contrast.b].results,
                contrast.control ? &*contrast.control : nullptr, contrast.rule));
  }
  return input;
}

int run(const Arguments& arguments, Terminal& terminal) {
  const auto format = format_of(arguments);
  if (!format.ok()) return report(terminal, format.error());
  const auto margin = given_margin(arguments);
  if (!margin.ok()) return report(terminal, margin.error());
  const auto price = given_price(arguments);
  if (!price.ok()) return report(terminal, price.error());
  const std::string file = arguments.get("--output");
  const bool to_file = !file.empty() && file != "-";
  if (const Status writable = to_file ? check_writable(file) : Status(); !writable.ok()) {
    terminal.complain(writable.error().message);
    return exit_io;
  }
  std::vector<std::string> words = arguments.positionals;
  if (words.empty()) {
    std::error_code none;
    if (!std::filesystem::exists(default_folder, none)) {
      return report(terminal, Error{ErrorKind::usage,
                                    fmt::format("there is no folder {} here, where `assay run` "
                                                "stores its results; measure something, or name "
                                                "what to report",
                                                default_folder)});
    }
    words.emplace_back(default_folder);
  }
  const bool alone = words.size() == 1 && !is_campaign(words[0]);
  auto input = alone ? read_alone(words[0]) : read_compared(words, *margin);
  if (!input.ok()) return report(terminal, input.error());
  for (const std::string& beside : arguments.all("--beside")) {
    const Status added = add_beside(beside, *input);
    if (!added.ok()) return report(terminal, added.error());
  }
  for (report::Environment& environment : input->environments) {
    add_costs(environment.results, *price);
  }
  input->title = arguments.get("--title");
  describe(words, !alone && words.size() == 1, *input);
  const auto made = (*format)->write(*std::move(input));
  if (!made.ok()) return report(terminal, made.error());
  const std::string& text = *made;
  if (!to_file) {
    terminal.print(text);
    return exit_ok;
  }
  const Status written = write_file(file, text);
  if (!written.ok()) {
    terminal.complain(written.error().message);
    return exit_io;
  }
  terminal.note(fmt::format("{} written, {} KiB\n", file, (text.size() + 1023) / 1024));
  return exit_ok;
}

const Command command = {
    .name = "report",
    .summary = "Write results or a comparison as one file to share: HTML, Markdown or CSV",
    .group = CommandGroup::compare,
    .positionals = "[A [B] | CAMPAIGN]",
    .least_positionals = 0,
    .most_positionals = 2,
    .details =
        R"(A and B are what `assay compare` accepts: CAMPAIGN/ENVIRONMENT, a store or STORE:RUN, a file that
another program wrote or a folder of such files. A alone is described; A and B are compared; for a
CAMPAIGN, the baseline is compared with each other environment. Without any, ./assay-results is
described, where `assay run` stores its results.

HTML is one file that opens offline, with charts, the data behind each, and what differs
between the environments; docs/report.md says how to read it. Markdown has the same tables,
CSV the table of cells; llama-bench is that program's JSON of prefill and decode of one
sequence, pp512 and tg128 among them, for tools that read it. The exit status does not depend on the verdict.

  assay report -o report.html
  assay report container-study -o report.html
  assay report results/bare-metal results/vm -o report.html --margin 1%
  assay report rccl.log --format md
  assay report --format llama-bench -o pp512-tg128.json   # after `assay run inference`
  assay report --beside mi350x-training -o report.html   # published figures on the charts

)",
    .options =
        {
            {"--output", "FILE", "where to write, also -o; default: standard output", "", false,
             "--out"},
            {"--format", "NAME",
             "html, md, csv or llama-bench; default: by the ending of FILE, md on standard output",
             "html md csv llama-bench"},
            {"--title", "TEXT", "title of the report; default: the question that it answers", ""},
            {"--beside", "NAME",
             "figures to draw beside the others without judging them: of `assay list references`, "
             "or results as A",
             &reference_names, true},
            price_option(),
            {"--margin", "SHARE",
             "differences below this do not matter, e.g. 1%; default: the campaign's, or 2%", ""},
        },
    .run = &run,
    .no_json = "`assay compare --json` and `assay show --json` have the same data",
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::report_command

namespace assay::cli {

Result<report::Document> document_of_campaign(const std::string& folder) {
  using namespace report_command;
  report::ReportInput input = TRY(read_compared({folder}, std::nullopt));
  describe({folder}, true, input);
  return report::make_document(std::move(input));
}

}  // namespace assay::cli
