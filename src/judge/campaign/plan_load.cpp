#include "judge/campaign/plan_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

namespace assay {
namespace {

constexpr std::string_view load_name = "load";
/// Servers may take many minutes to start, and a load has many points.
constexpr double load_timeout_seconds = 7200;

bool contains(std::initializer_list<std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Replaces variables named as "$NAME" or "${NAME}" in `text` by their values; unknown names stay.
std::string expanded(std::string_view text,
                     const std::vector<std::pair<std::string, std::string>>& variables) {
  const auto is_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::string kept;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    kept += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty()) break;
    const bool braces = text.substr(1).starts_with('{');
    const std::size_t begin = braces ? 2 : 1;
    std::size_t end = begin;
    while (end < text.size() && is_name(text[end])) ++end;
    const std::string_view name = text.substr(begin, end - begin);
    const bool closed = !braces || text.substr(end).starts_with('}');
    const auto variable = std::find_if(variables.begin(), variables.end(), [&](const auto& pair) {
      return closed && pair.first == name;
    });
    const std::size_t taken = variable == variables.end() ? 1 : end + (braces ? 1 : 0);
    kept += variable == variables.end() ? "$" : variable->second;
    text.remove_prefix(taken);
  }
  return kept;
}

Status add_load_option(const YamlReader& map, const std::string& key,
                       std::vector<std::string>& words) {
  const std::string option = "--" + key;
  if (contains({"ignore-eos", "insecure", "no-ignore-eos", "no-stream"}, key)) {
    bool on = false;
    TRY(map.flag(key, on));
    if (on) words.push_back(option);
    return {};
  }
  const std::vector<std::string> values = TRY(map.texts(key));
  if (contains({"header", "spawn-env"}, key)) {  // repeatable options
    for (const std::string& value : values) words.insert(words.end(), {option, value});
  } else {
    words.insert(words.end(), {option, fmt::format("{}", fmt::join(values, ","))});
  }
  return {};
}

}  // namespace

const std::vector<std::string>& load_keys() {
  static const std::vector<std::string> keys = {"api",
                                                "model",
                                                "request-rate",
                                                "max-concurrency",
                                                "requests",
                                                "repeat",
                                                "duration",
                                                "burstiness",
                                                "ramp-rate",
                                                "recorded",
                                                "ramp",
                                                "warm-up",
                                                "dataset",
                                                "file",
                                                "input",
                                                "output-tokens",
                                                "spread",
                                                "prefix",
                                                "prefixes",
                                                "turns",
                                                "think",
                                                "seed",
                                                "ignore-eos",
                                                "no-ignore-eos",
                                                "no-stream",
                                                "extra-body",
                                                "header",
                                                "insecure",
                                                "balance",
                                                "timeout",
                                                "request-timeout",
                                                "goodput",
                                                "percentiles",
                                                "telemetry",
                                                "spawn-env",
                                                "spawn-timeout"};
  return keys;
}

Result<ExternalCommand> read_load(const YamlValue& value, std::string_view file,
                                  std::uint64_t seed) {
  const YamlReader map = TRY(YamlReader::of(value, file,
                                            "\"load\" must be a map of options of assay load, e.g. "
                                            "{max-concurrency: [4, 8]}",
                                            load_keys()));
  ExternalCommand command;
  command.name = load_name;
  command.format = "assay";
  command.timeout_seconds = load_timeout_seconds;
  command.words = {"assay", "load", "--json", "--out", "-"};
  for (const YamlValue::Key& key : value.keys) TRY(add_load_option(map, key.text, command.words));
  if (map.find("seed") == nullptr) {
    command.words.insert(command.words.end(), {"--seed", fmt::format("{}", seed)});
  }
  return command;
}

Result<std::vector<std::string>> read_load_servers(const YamlReader& environment) {
  const bool url = environment.find("url") != nullptr, spawn = environment.find("spawn") != nullptr;
  if (url == spawn) {
    return environment.wrong(environment.value(),
                             "the load needs either \"url\" or \"spawn\" in every environment");
  }
  if (url) {
    const std::vector<std::string> urls = TRY(environment.texts("url"));
    return std::vector<std::string>{"--url", fmt::format("{}", fmt::join(urls, ","))};
  }
  std::vector<std::string> words = {"--spawn", TRY(environment.text("spawn"))};
  constexpr std::uint64_t most_servers = 256;
  std::uint64_t count = 1;
  TRY(environment.count("servers", 1, most_servers, count));
  if (count > 1) words.insert(words.end(), {"--servers", fmt::format("{}", count)});
  return words;
}

Suite commands_of_unit(const CampaignPlan& plan, const PlannedEnvironment& environment,
                       std::size_t pair, bool again) {
  Suite suite = *plan.commands;
  for (SuiteEntry& entry : suite.entries) {
    if (!entry.command) continue;
    ExternalCommand& command = *entry.command;
    if (command.name == load_name && !environment.servers.empty()) {
      command.words.insert(command.words.end(), environment.servers.begin(),
                           environment.servers.end());
    }
    for (std::string& word : command.words) word = expanded(word, environment.variables);
    for (auto& [name, value] : command.variables) value = expanded(value, environment.variables);
    command.variables.emplace_back("ASSAY_PAIR", fmt::format("{}", pair + 1));
    // Servers that every unit starts anew have seen no prompts, and equal prompts make pairs more
    // similar.
    const bool fresh = !environment.servers.empty() && environment.servers.front() == "--spawn";
    if (again && !fresh) command.variables.emplace_back("ASSAY_PROMPTS", "2");
  }
  return suite;
}

}  // namespace assay
