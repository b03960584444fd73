#include "cli/advise/tune_conv_view.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "cli/advise/tune_tables.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/shown_text.h"
#include "core/units.h"
#include "measure/benchmarks/conv/conv_cell.h"
#include "measure/sampling/roofline.h"
#include "ranks/environments/shell_words.h"
#include "statistics/paired.h"

namespace assay::cli {
namespace {

constexpr std::size_t most_changes = 20;  // changes shown per file

std::string verdict_of(const ConvolutionOutcome& outcome) {
  const char* kept = outcome.stays ? ": may stay in the databases" : ": not kept";
  if (outcome.slower) return std::string("slower, proven") + kept;
  if (outcome.pairs == 0) return "nothing better: the library's own choice is the fastest";
  if (!outcome.faster && outcome.pairs < least_units) {
    return fmt::format("only {} pairs, a proof needs {}{}", outcome.pairs, least_units, kept);
  }
  if (!outcome.faster) return std::string(outcome.equal ? "equal" : "undecided") + kept;
  if (outcome.before.algorithm == outcome.after.algorithm) {
    return outcome.after.algorithm + ", other parameters";
  }
  return outcome.before.algorithm + " -> " + outcome.after.algorithm;
}

}  // namespace

std::string convolution_list_text(std::span<const CountedConvolution> convolutions,
                                  const DeviceFacts& facts, std::size_t width, const Style& style) {
  std::vector<ListedProblem> listed;
  for (const auto& [problem, count] : convolutions) {
    const Work work = {.bytes = problem.bytes(), .flops = problem.flops(), .math = problem.type};
    listed.push_back({describe(problem), count, floor_seconds(facts, work, Limit::compute)});
  }
  return listed_text("convolution", listed, width, style);
}

Json convolution_list_json(std::span<const CountedConvolution> convolutions) {
  Json json = Json::array();
  for (const auto& [problem, count] : convolutions) {
    Json one = Json::object();
    for (const AxisSetting& setting : conv_settings(problem)) one[setting.axis] = setting.values;
    one["calls"] = count;
    json.push_back(std::move(one));
  }
  return json;
}

std::string tuned_convolutions_text(std::span<const ConvolutionOutcome> outcomes, std::size_t width,
                                    const Style& style) {
  Table table({{"convolution"},
               {"calls", Column::Align::right},
               {"before", Column::Align::right},
               {"after", Column::Align::right},
               {"gain [95%]", Column::Align::right},
               {"roofline", Column::Align::right},
               {"algorithm", Column::Align::left, 1}});
  double before = 0, after = 0;
  std::size_t measured = 0, faster = 0;
  for (const ConvolutionOutcome& outcome : outcomes) {
    const std::string name = describe(outcome.convolution.problem);
    const std::string calls = std::to_string(outcome.convolution.count);
    if (!outcome.reason.empty()) {
      table.add(
          {name, calls, "-", "-", "", "",
           shown_line(outcome.reason, 300) + (outcome.stays ? ": may stay in the databases" : "")});
      continue;
    }
    ++measured;
    const auto count = static_cast<double>(outcome.convolution.count);
    before += count * outcome.before.seconds;
    after += count * outcome.best_seconds();
    faster += outcome.faster ? 1 : 0;
    const bool differs = outcome.faster || outcome.slower;
    table.add(
        {name, calls, format_seconds(outcome.before.seconds), format_seconds(outcome.after.seconds),
         outcome.pairs == 0 ? "" : gain_text(outcome.gain, outcome.gain_low, outcome.gain_high),
         roofs_text(outcome.floor_seconds, outcome.before.seconds,
                    differs ? std::optional(outcome.after.seconds) : std::nullopt),
         shown_line(verdict_of(outcome), 200)});
  }
  std::string text = table.render(width, style);
  if (measured > 0) text += sum_text(faster, measured, "convolutions", before, after);
  return text;
}

Json tuned_convolutions_json(std::span<const ConvolutionOutcome> outcomes) {
  Json json = Json::array();
  for (const ConvolutionOutcome& outcome : outcomes) json.push_back(to_json(outcome));
  return json;
}

std::string databases_text(const std::string& folder, std::span<const DatabaseChange> changes) {
  std::string text = fmt::format("MIOpen's databases lie in {}\n", folder);
  struct FileChanges {
    std::size_t added = 0, changed = 0;
    std::string lines;
  };
  std::map<std::string, FileChanges> files;
  for (const DatabaseChange& change : changes) {
    FileChanges& file = files[change.file];
    ++(change.added ? file.added : file.changed);
    if (file.added + file.changed <= most_changes && !change.key.empty()) {
      file.lines += fmt::format("    {} {}: {}\n", change.added ? "+" : "~",
                                shown_line(change.key, 120), shown_line(summary_of(change), 160));
    }
  }
  for (const auto& [name, file] : files) {
    text += fmt::format("  {}: {} records new (+), {} changed (~)\n{}", shown_line(name, 120),
                        file.added, file.changed, file.lines);
    if (file.added + file.changed > most_changes) {
      text += fmt::format("    and {} more; --json shows all\n",
                          file.added + file.changed - most_changes);
    }
  }
  if (files.empty()) return text + "  nothing changed in them\n";
  return text +
         fmt::format("programs use them with: export MIOPEN_USER_DB_PATH={}\n", shell_word(folder));
}

Json databases_json(const std::string& folder, std::span<const DatabaseChange> changes) {
  Json json = {{"folder", folder}, {"changes", Json::array()}};
  for (const DatabaseChange& change : changes) {
    json["changes"].push_back({{"file", change.file},
                               {"key", change.key},
                               {"added", change.added},
                               {"record", change.record}});
  }
  return json;
}

}  // namespace assay::cli
