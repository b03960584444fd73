#include "measure/sampling/external.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "core/json.h"
#include "core/json_text.h"
#include "core/own_binary.h"
#include "core/program.h"
#include "core/read_file.h"
#include "core/regex.h"
#include "core/secrets.h"
#include "core/suggest.h"
#include "results/import/importer.h"
#include "results/record/measured_unit.h"

namespace assay {
namespace {

constexpr std::size_t most_output_bytes = std::size_t{256} << 20;
constexpr std::string_view own_name = "assay";

Error failed(std::string message) {
  return {ErrorKind::failed, std::move(message)};
}

/// All of `text` as a finite number; empty if it is not one.
std::optional<double> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// The output as JSON, or its last line that is JSON: programs print a log before their result.
std::optional<Json> json_of(std::string_view output) {
  if (auto whole = parse_json(output); whole.ok()) return std::move(whole).value();
  while (!output.empty()) {
    const std::size_t newline = output.find_last_of('\n');
    const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    const std::string_view line = output.substr(begin);
    if (line.starts_with('{') || line.starts_with('[')) {
      if (auto json = parse_json(line); json.ok()) return std::move(json).value();
    }
    output = output.substr(0, begin == 0 ? 0 : begin - 1);
  }
  return std::nullopt;
}

Result<std::string> text_at(const MetricRule& rule, std::string_view output) {
  const auto json = json_of(output);
  if (!json) return failed(fmt::format("metric {}: its output holds no JSON", rule.name));
  try {
    const Json& value = json->at(Json::json_pointer(rule.json));
    if (value.is_number() || value.is_string()) {
      return value.is_string() ? value.get<std::string>() : value.dump();
    }
  } catch (const Json::exception&) {  // a JSON pointer to nothing throws
    return failed(fmt::format("metric {}: its output has nothing at {}", rule.name, rule.json));
  }
  return failed(fmt::format("metric {}: the value at {} is not a number", rule.name, rule.json));
}

Result<std::string> text_matching(const MetricRule& rule, std::string_view output) {
  const auto pattern = Pattern::compile(rule.regex);
  if (!pattern.ok())
    return failed(fmt::format("metric {}: {}", rule.name, pattern.error().message));
  const std::string_view found = pattern->last_group(output);
  if (!found.empty()) return std::string(found);
  return failed(fmt::format("metric {}: no line of its output matches {}", rule.name, rule.regex));
}

Better better_of(std::string_view text) {
  return text == "higher" ? Better::higher : text == "lower" ? Better::lower : Better::neither;
}

std::string command_line(const ExternalCommand& command) {
  return fmt::format("{}", fmt::join(hide_secrets(command.words), " "));
}

/// How to start the command. The program name "assay" means this binary, whatever its path and
/// name.
Result<ProgramStart> start_of(const ExternalCommand& command,
                              const std::function<bool()>& stop_requested) {
  ProgramStart program;
  program.words = command.words;
  if (program.words.front() == own_name) program.words.front() = TRY(own_binary());
  program.variables = command.variables;
  program.timeout_seconds = command.timeout_seconds;
  program.stop_requested = stop_requested;
  return program;
}

struct ProgramRun {
  std::string output;  ///< its file if the suite names one, otherwise standard output
  double seconds = 0;  ///< from its start until it and all that hold its output had ended
};

Result<ProgramRun> run_and_read(const ExternalCommand& command,
                                const std::function<bool()>& stop_requested) {
  std::error_code ignored;
  if (!command.file.empty())
    std::filesystem::remove(command.file, ignored);  // so that no old result is read
  std::string output;
  bool too_long = false;
  ProgramStart program = TRY(start_of(command, stop_requested));
  program.line = [&](std::string_view line) {
    too_long = too_long || output.size() + line.size() > most_output_bytes;
    if (!too_long) output.append(line).append("\n");
  };
  const auto begin = std::chrono::steady_clock::now();
  const ProgramEnd end = TRY(run_program(program));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::string& name = command.words.front();
  if (end.stopped) return Error{ErrorKind::interrupted, name + " was stopped"};
  const std::string told = last_line(end.errors_tail);
  const std::string because = told.empty() ? "" : ": " + told;
  if (end.timed_out) {
    return failed(fmt::format("{} took longer than {:.0f} s and was stopped{}", name,
                              command.timeout_seconds, because));
  }
  if (end.status != 0) return failed(fmt::format("{} ended with {}{}", name, end.status, because));
  if (too_long) return failed(fmt::format("{} printed more than 256 MiB", name));
  if (!command.file.empty()) {
    auto text = read_operand(command.file, most_output_bytes);
    if (!text.ok())
      return failed(fmt::format("{} wrote no result: {}", name, text.error().message));
    output = std::move(text).value();
  }
  return ProgramRun{std::move(output), seconds};
}

std::vector<Record> records_of_metrics(const ExternalCommand& command, const Record& blank,
                                       const ProgramRun& run) {
  Record record = blank;
  record.cell = Cell(command.name, {});
  record.source =
      Source{std::filesystem::path(command.words.front()).filename(), "", command_line(command), 0};
  record.status = RecordStatus::passed;
  if (command.metrics.empty()) {
    record.metrics.push_back({"duration", run.seconds, "s", Better::lower, ""});
  }
  for (const MetricRule& rule : command.metrics) {
    auto metric = find_metric(rule, run.output);
    if (metric.ok()) {
      record.metrics.push_back(std::move(metric).value());
    } else if (record.status == RecordStatus::passed) {
      record.status = RecordStatus::error;
      record.reason = metric.error().message;
    }
  }
  if (record.metrics.empty()) record.source.reset();
  return {record};
}

Result<std::vector<Record>> imported_records(const ExternalCommand& command, const Record& blank,
                                             std::string_view output) {
  auto imported = import_text({output, command.name}, command.format);
  if (!imported.ok()) return failed(imported.error().message);
  for (Record& record : imported->records) {
    record.run = blank.run;
    record.fingerprint = blank.fingerprint;
    // What ran on a model stays marked, whatever this run's device is.
    const bool emulated = record.device.emulated;
    record.device = blank.device;
    record.device.emulated |= emulated;
    if (record.source) record.source->file = command_line(command);
    auto values = record.cell.values();
    values.emplace_back("command", command.name);
    record.cell = Cell(record.cell.benchmark(), std::move(values));
  }
  return std::move(imported->records);
}

}  // namespace

Status check_external(const ExternalCommand& command, const std::function<bool()>& stop_requested) {
  const std::string& name = command.words.front();
  if (name != own_name) {
    const Status starts = check_that_starts(name);
    if (starts.ok()) return {};
    return Error{starts.error().kind,
                 starts.error().message + "; install it, or give the path of another"};
  }
  const bool checks_itself =
      command.words.size() > 1 && (command.words[1] == "load" || command.words[1] == "run");
  if (!checks_itself) return {};
  ProgramStart program = TRY(start_of(command, stop_requested));
  program.words.emplace_back("--check");
  const ProgramEnd end = TRY(run_program(program));
  if (end.stopped) return Error{ErrorKind::interrupted, name + " was stopped"};
  if (end.status == 0) return {};
  constexpr std::string_view mark = "assay: ";
  std::string told = last_line(end.errors_tail);
  if (told.starts_with(mark)) told.erase(0, mark.size());
  return Error{ErrorKind::unavailable, told};
}

Status check_formats(const std::vector<ExternalCommand>& commands) {
  std::vector<std::string> names;
  for (const Importer* importer : importers()) names.emplace_back(importer->name());
  for (const ExternalCommand& command : commands) {
    const std::string& format = command.format;
    if (format.empty() || std::find(names.begin(), names.end(), format) != names.end()) continue;
    return Error{ErrorKind::usage,
                 fmt::format("command {}: unknown format \"{}\"{}; allowed: {}", command.name,
                             format, did_you_mean(format, names), fmt::join(names, ", "))};
  }
  return {};
}

Result<Metric> find_metric(const MetricRule& rule, std::string_view output) {
  const std::string text =
      TRY(rule.json.empty() ? text_matching(rule, output) : text_at(rule, output));
  const auto number = number_of(text);
  const auto unit = measured_unit(rule.unit);
  if (!number || !unit) {
    return failed(fmt::format("metric {}: \"{}\" is not a number", rule.name, text.substr(0, 80)));
  }
  return Metric{rule.name, to_si(*number, unit->factor), std::string(unit->si),
                better_of(rule.better), fmt::format("{} {}", text, rule.unit)};
}

Result<std::vector<Record>> run_external(const ExternalCommand& command, const Record& blank,
                                         const std::function<bool()>& stop_requested) {
  const ProgramRun run = TRY(run_and_read(command, stop_requested));
  if (command.format.empty()) return records_of_metrics(command, blank, run);
  return imported_records(command, blank, run.output);
}

}  // namespace assay
