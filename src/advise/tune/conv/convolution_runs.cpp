#include "advise/tune/conv/convolution_runs.h"

#include <fmt/format.h>

#include <set>

#include "advise/tune/tuning_journal.h"
#include "core/json.h"
#include "core/program.h"
#include "core/write_file.h"
#include "measure/benchmarks/conv/conv_cell.h"
#include "measure/suites/suite.h"
#include "results/record/record.h"
#include "results/store/record_json.h"

namespace assay {
namespace {

std::string_view name_of(ConvolutionRole role) {
  switch (role) {
    case ConvolutionRole::search:
      return "search";
    case ConvolutionRole::tuned:
      return "tuned";
    default:
      return "before";
  }
}

/// The text of a suite of these convolutions with the given value of the axis `find`.
std::string suite_text(std::span<const ConvolutionProblem> problems, const std::string& find) {
  Suite suite;
  suite.name = "convolutions";
  suite.description = "what is tuned";
  for (const ConvolutionProblem& problem : problems) {
    SuiteEntry entry;
    entry.benchmark = "conv";
    for (AxisSetting& setting : conv_settings(problem)) {
      entry.settings.push_back({std::move(setting), 0});
    }
    entry.settings.push_back({{"find", find}, 0});
    suite.entries.push_back(std::move(entry));
  }
  return inline_text(suite, {});
}

/// Adds the result in a line of `assay run --json`, if it is a record. A convolution for which no
/// time was left is only added to `known`.
void take_record(std::string_view line, MeasuredConvolutions& measured,
                 std::set<std::string>& known) {
  const Json json = try_parse_json(line);
  if (!json.is_object() || !json.contains("status")) return;
  const auto record = record_from_json(json);
  if (!record.ok()) return;
  const auto cell = parse_conv_cell(record->cell);
  if (!cell.ok()) return;
  known.insert(describe(cell->problem));
  if (record->status == RecordStatus::interrupted) return;
  MeasuredConvolution one;
  if (record->value && record->seconds && record->seconds->median > 0) {
    one.seconds = record->seconds->median;
    for (const auto& [name, value] : record->notes) {
      if (name == "algorithm") one.algorithm = value;
      if (name == "algorithm_rank" && cell->search == ConvolutionSearch::every) {
        one.first = value == "0";
      }
    }
  } else {
    one.reason = record->reason.empty() ? "it was not measured" : record->reason;
  }
  measured[describe(cell->problem)] = std::move(one);
}

}  // namespace

ConvolutionWay miopen_way(ConvolutionRole role, const std::filesystem::path& databases,
                          const std::filesystem::path& before) {
  constexpr const char* place = "MIOPEN_USER_DB_PATH";
  switch (role) {
    case ConvolutionRole::search:
      // This also searches again where MIOpen already has parameters, including those that it ships
      // with.
      return {"exhaustive",
              {{place, databases.string()}, {"MIOPEN_FIND_ENFORCE", "SEARCH_DB_UPDATE"}}};
    case ConvolutionRole::tuned:
      return {"first", {{place, databases.string()}}};
    default:
      return {"first", before.empty() ? Settings() : Settings{{place, before.string()}}};
  }
}

ConvolutionWay chosen_way(ConvolutionRole role, const std::filesystem::path& cache) {
  return {role == ConvolutionRole::before ? "first" : "best", {{"XDG_CACHE_HOME", cache.string()}}};
}

Result<MeasuredConvolutions> run_convolutions(const ConvolutionRunRequest& request,
                                              ConvolutionRole role, const ConvolutionWay& way,
                                              std::span<const ConvolutionProblem> problems) {
  const std::filesystem::path store = request.folder / "runs" / name_of(role);
  TRY(create_folder(store));
  const std::filesystem::path suite = std::filesystem::absolute(store) / "suite.yaml";
  TRY(write_file(suite, suite_text(problems, way.find) + "\n"));
  ProgramStart start;
  start.words = {request.binary, "run", suite.string(), "--device",     request.device,
                 "--telemetry",  "off", "--out",        store.string(), "--json"};
  start.words.insert(
      start.words.end(),
      {"--budget",
       fmt::format("{:.3f}s", request.budget_seconds * static_cast<double>(problems.size()))});
  start.variables = variables_of(way.variables);
  start.stop_requested = request.stop_requested;
  MeasuredConvolutions measured;
  std::set<std::string> known;
  start.line = [&](std::string_view line) { take_record(line, measured, known); };
  const ProgramEnd end = TRY(run_program(start));
  if (request.stop_requested && request.stop_requested()) {
    return stopped_tuning();
  }
  if (measured.empty()) {
    return Error{ErrorKind::failed, fmt::format("its process ended with status {}: {}", end.status,
                                                last_line(end.errors_tail))};
  }
  // If the process died, the convolutions that it had not reached are recorded as missing.
  for (const ConvolutionProblem& problem : problems) {
    if (known.contains(describe(problem))) continue;
    MeasuredConvolution missing;
    missing.reason = fmt::format("its process ended before, with status {}", end.status);
    measured.emplace(describe(problem), std::move(missing));
  }
  return measured;
}

}  // namespace assay
