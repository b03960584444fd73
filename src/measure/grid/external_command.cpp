#include "measure/grid/external_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/regex.h"
#include "results/record/measured_unit.h"

namespace assay {
namespace {

bool is_json_pointer(const std::string& text) {
  try {
    return !Json::json_pointer(text).empty();
  } catch (const Json::exception&) {  // JSON pointers report errors only by throwing
    return false;
  }
}

/// Whether `text` is allowed as the name of a cell or metric, which appears in ids, folders and
/// tables.
bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= 64 && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
         });
}

std::string bad_name(const std::string& name) {
  return fmt::format(
      "\"{}\" is not a valid name; allowed: 1 to 64 letters, digits, _ - . without . in front",
      name);
}

Result<MetricRule> read_metric(const YamlValue& value, std::string_view file) {
  const YamlReader map =
      TRY(YamlReader::of(value, file, "a metric is a map with name, json or regex, unit, better",
                         {"name", "json", "regex", "unit", "better"}));
  MetricRule rule;
  rule.name = TRY(map.text("name"));
  rule.unit = TRY(map.text("unit"));
  rule.better = TRY(map.text("better"));
  TRY(map.optional("json", rule.json));
  TRY(map.optional("regex", rule.regex));
  if (!is_name(rule.name)) {
    return map.wrong("name", bad_name(rule.name));
  }
  if (rule.json.empty() == rule.regex.empty()) {
    return map.wrong(value, "a metric needs either \"json\" (a pointer) or \"regex\"");
  }
  if (!rule.json.empty() && !is_json_pointer(rule.json)) {
    return map.wrong("json",
                     fmt::format("\"{}\" is not a JSON pointer; e.g. /results/0/busbw", rule.json));
  }
  if (!rule.regex.empty()) {
    const auto pattern = Pattern::compile(rule.regex);
    if (!pattern.ok()) {
      return map.wrong("regex", fmt::format("bad regular expression \"{}\": {}", rule.regex,
                                            pattern.error().message));
    }
  }
  if (!measured_unit(rule.unit)) {
    return map.wrong("unit",
                     fmt::format("unknown unit \"{}\"; allowed: s, ms, us, ns, B/s, GB/s, GiB/s, "
                                 "Gb/s, TFLOPS, tok/s, req/s, 1/s, GiB, W, %, 1 and the like",
                                 rule.unit));
  }
  if (rule.better != "higher" && rule.better != "lower" && rule.better != "neither") {
    return map.wrong("better", fmt::format("\"better\" must be higher, lower or neither, not "
                                           "\"{}\"",
                                           rule.better));
  }
  return rule;
}

}  // namespace

Result<ExternalCommand> read_external_command(const YamlValue& value, std::string_view file) {
  const YamlReader map =
      TRY(YamlReader::of(value, file,
                         "a command is a map with command and name, and format or metrics unless "
                         "its run time is measured",
                         {"command", "name", "format", "metrics", "file", "variables", "timeout"}));
  ExternalCommand command;
  command.words = TRY(map.texts("command"));
  command.name = TRY(map.text("name"));
  TRY(map.optional("format", command.format));
  TRY(map.optional("file", command.file));
  TRY(map.optional("variables", command.variables));
  std::optional<double> timeout;
  TRY(map.duration("timeout", timeout));
  command.timeout_seconds = timeout.value_or(ExternalCommand::default_timeout);
  if (!is_name(command.name)) {
    return map.wrong("name", bad_name(command.name));
  }
  const YamlValue* metrics = map.find("metrics");
  if (metrics != nullptr && !command.format.empty()) {
    return map.wrong(value,
                     "a command has either \"format\" (of `assay import`) or \"metrics\", not "
                     "both; without either its run time is measured");
  }
  if (metrics != nullptr) {
    if (metrics->kind != YamlValue::Kind::list || metrics->items.empty()) {
      return map.wrong("metrics",
                       "\"metrics\" must be a list of {name, json or regex, unit, better}");
    }
    for (const YamlValue& item : metrics->items) {
      command.metrics.push_back(TRY(read_metric(item, file)));
    }
  }
  return command;
}

Json to_json(const ExternalCommand& command) {
  Json json;
  json["command"] = command.words;
  json["name"] = command.name;
  if (!command.format.empty()) json["format"] = command.format;
  for (const MetricRule& rule : command.metrics) {
    Json metric = {{"name", rule.name}};
    metric[rule.json.empty() ? "regex" : "json"] = rule.json.empty() ? rule.regex : rule.json;
    metric["unit"] = rule.unit;
    metric["better"] = rule.better;
    json["metrics"].push_back(std::move(metric));
  }
  if (!command.file.empty()) json["file"] = command.file;
  for (const auto& [name, text] : command.variables) json["variables"][name] = text;
  json["timeout"] = fmt::format("{}s", command.timeout_seconds);
  return json;
}

}  // namespace assay
