#include "advise/tune/tuning_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "advise/tune/proof.h"
#include "core/read_file.h"
#include "core/suggest.h"
#include "core/yaml_text.h"
#include "measure/grid/axis.h"
#include "statistics/paired.h"

namespace assay {
namespace {

constexpr std::size_t most_tuning_plan_bytes = std::size_t{1} << 20;
constexpr std::uint64_t least_runs = 20, most_runs = 100'000;
constexpr std::size_t most_value_letters = 256;

bool is_word_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Replaces each "{NAME}" in `text` by `value(NAME)`. Shell syntax "${NAME}" and braces around
/// anything but a name stay as they are.
std::string filled_in(std::string_view text,
                      const std::function<std::string(std::string_view name)>& value) {
  std::string filled;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    while (text[i] == '{' && end < text.size() && is_word_letter(text[end])) ++end;
    const bool is_name = text[i] == '{' && end > i + 1 && end < text.size() && text[end] == '}' &&
                         std::isdigit(static_cast<unsigned char>(text[i + 1])) == 0 &&
                         (i == 0 || text[i - 1] != '$');
    if (is_name) {
      filled += value(text.substr(i + 1, end - i - 1));
      i = end + 1;
    } else {
      filled += text[i++];
    }
  }
  return filled;
}

/// Applies `change` to every text of `command`.
ExternalCommand with_texts(ExternalCommand command,
                           const std::function<std::string(const std::string&)>& change) {
  for (std::string& word : command.words) word = change(word);
  for (auto& [name, value] : command.variables) value = change(value);
  command.file = change(command.file);
  return command;
}

/// Reads the values of a parameter: "4", a sweep of whole numbers "1..16*2", or a list of these.
Result<std::vector<std::string>> read_values(const YamlReader& map, const std::string& name) {
  std::vector<std::string> values;
  for (const std::string& item : TRY(map.texts(name))) {
    if (item.find("..") == std::string::npos) {
      values.push_back(item);
      continue;
    }
    Axis axis;
    axis.name = name;
    axis.kind = Axis::Kind::integer;
    axis.least = 0;
    auto sweep = expand(axis, item);
    if (!sweep.ok()) return map.wrong(name, sweep.error().message);
    values.insert(values.end(), sweep->begin(), sweep->end());
  }
  std::set<std::string_view> seen;
  for (const std::string& value : values) {
    const bool is_line = value.size() <= most_value_letters &&
                         std::none_of(value.begin(), value.end(),
                                      [](unsigned char c) { return std::iscntrl(c) != 0; });
    if (!is_line) return map.wrong(name, fmt::format("a value of {} is not one short line", name));
    if (!seen.insert(value).second) {
      return map.wrong(name, fmt::format("{} has the value \"{}\" twice", name, value));
    }
  }
  return values;
}

Result<std::vector<Parameter>> read_parameters(const YamlReader& map, std::string_view file) {
  const YamlValue* const value = map.find("parameters");
  if (value == nullptr || value->kind != YamlValue::Kind::map || value->keys.empty()) {
    return map.wrong("parameters", "\"parameters\" must be a map of names to lists of values");
  }
  std::vector<std::string> names;
  for (const YamlValue::Key& key : value->keys) {
    const bool is_name = !key.text.empty() &&
                         std::isdigit(static_cast<unsigned char>(key.text[0])) == 0 &&
                         std::all_of(key.text.begin(), key.text.end(), is_word_letter);
    if (!is_name) {
      return map.wrong(*value, fmt::format("\"{}\" is not a parameter's name; allowed: letters, "
                                           "digits and _",
                                           key.text));
    }
    names.push_back(key.text);
  }
  const YamlReader parameters = TRY(YamlReader::of(*value, file, "parameters are a map", names));
  std::vector<Parameter> read;
  for (const std::string& name : names) {
    read.push_back({name, TRY(read_values(parameters, name))});
  }
  if (const YamlValue* const usual = map.find("usual")) {
    const YamlReader chosen = TRY(YamlReader::of(
        *usual, file, "\"usual\" is a map of parameters to one of their values", names));
    for (Parameter& parameter : read) {
      if (chosen.find(parameter.name) == nullptr) continue;
      const std::string text = TRY(chosen.text(parameter.name));
      const auto at = std::find(parameter.values.begin(), parameter.values.end(), text);
      if (at == parameter.values.end()) {
        return chosen.wrong(parameter.name,
                            fmt::format("\"{}\" is not a value of {}; allowed: {}", text,
                                        parameter.name, fmt::join(parameter.values, ", ")));
      }
      parameter.usual = static_cast<std::size_t>(at - parameter.values.begin());
    }
  }
  return read;
}

/// Checks that every "{NAME}" is a parameter and that every parameter is used, unless it is an
/// environment variable.
Status check_names(const YamlReader& map, const ExternalCommand& command,
                   const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  std::set<std::string, std::less<>> used;
  with_texts(command, [&](const std::string& text) {
    return filled_in(text, [&](std::string_view name) {
      used.emplace(name);
      return std::string();
    });
  });
  for (const std::string& name : used) {
    if (std::count(names.begin(), names.end(), name) > 0) continue;
    return map.wrong("command",
                     fmt::format("{{{}}} is not a parameter{}", name, did_you_mean(name, names)));
  }
  for (const std::string& name : names) {
    if (names_variable(name) || used.contains(name)) continue;
    return map.wrong("parameters",
                     fmt::format("parameter {0} is not in the command; write {{{0}}} where its "
                                 "value belongs (names in capitals are environment variables)",
                                 name));
  }
  return {};
}

/// The keys of the plan that a command has in suites too, as a separate map.
YamlValue command_keys(const YamlValue& plan) {
  YamlValue command = plan;
  command.keys.clear();
  command.items.clear();
  for (std::size_t i = 0; i < plan.keys.size(); ++i) {
    const std::string& key = plan.keys[i].text;
    const bool is_plans = key == "parameters" || key == "usual" || key == "conditions" ||
                          key == "budget" || key == "pairs" || key == "seed";
    if (is_plans) continue;
    command.keys.push_back(plan.keys[i]);
    command.items.push_back(plan.items[i]);
  }
  return command;
}

Status read_pairs(const YamlReader& map, std::string_view file, TuningRules& rules) {
  const YamlValue* const value = map.find("pairs");
  if (value == nullptr) return {};
  const YamlReader pairs =
      TRY(YamlReader::of(*value, file, "\"pairs\" is a map with least, most", {"least", "most"}));
  std::uint64_t least = rules.least_pairs, most = rules.most_pairs;
  TRY(pairs.count("least", least_units, most_proof_pairs, least));
  most = std::max(least, most);
  TRY(pairs.count("most", least, most_proof_pairs, most));
  rules.least_pairs = least;
  rules.most_pairs = most;
  return {};
}

Status read_rules(const YamlReader& map, std::string_view file, TuningRules& rules) {
  TRY(map.count("seed", 0, UINT64_MAX, rules.seed));
  TRY(read_pairs(map, file, rules));
  const YamlValue* const value = map.find("budget");
  if (value == nullptr) return {};
  const YamlReader budget =
      TRY(YamlReader::of(*value, file, "\"budget\" is a map with runs, time", {"runs", "time"}));
  std::uint64_t runs = rules.runs;
  TRY(budget.count("runs", least_runs, most_runs, runs));
  rules.runs = runs;
  return budget.duration("time", rules.seconds);
}

}  // namespace

Result<TuningPlan> parse_tuning_plan(std::string_view yaml, const std::string& file) {
  const YamlValue value = TRY(parse_yaml(yaml, file));
  const YamlReader map = TRY(
      YamlReader::of(value, file, "a tuning plan is a map with name, command, metrics, parameters",
                     {"name", "command", "metrics", "file", "variables", "timeout", "parameters",
                      "usual", "conditions", "budget", "pairs", "seed"}));
  TuningPlan plan;
  plan.text = yaml;
  plan.command = TRY(read_external_command(command_keys(value), file));
  if (plan.command.metrics.front().better == "neither") {
    return map.wrong("metrics",
                     "the first metric is to be improved: its \"better\" must be higher "
                     "or lower");
  }
  std::vector<Parameter> parameters = TRY(read_parameters(map, file));
  TRY(check_names(map, plan.command, parameters));
  std::vector<std::string> conditions;
  TRY(map.optional("conditions", conditions));
  auto space = ParameterSpace::make(std::move(parameters), conditions);
  if (!space.ok()) {
    const char* const key = map.find("conditions") == nullptr ? "parameters" : "conditions";
    return map.wrong(key, space.error().message);
  }
  plan.space = std::move(space).value();
  TRY(read_rules(map, file, plan.rules));
  return plan;
}

Result<TuningPlan> load_tuning_plan(const std::string& path) {
  return parse_tuning_plan(TRY(read_operand(path, most_tuning_plan_bytes)), path);
}

ExternalCommand command_with(const ExternalCommand& command, const Settings& settings) {
  const auto value = [&](std::string_view name) -> std::string {
    const auto at = std::find_if(settings.begin(), settings.end(),
                                 [&](const Setting& setting) { return setting.variable == name; });
    return at == settings.end() ? "" : at->value;
  };
  ExternalCommand filled =
      with_texts(command, [&](const std::string& text) { return filled_in(text, value); });
  std::vector<std::string> words;
  for (std::size_t i = 0; i < filled.words.size(); ++i) {
    const bool was_empty = command.words[i].empty();
    if (was_empty || !filled.words[i].empty()) words.push_back(filled.words[i]);
  }
  filled.words = std::move(words);
  for (const auto& variable : variables_of(settings)) filled.variables.push_back(variable);
  return filled;
}

}  // namespace assay
