#include "cli/judge/versus_load.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/serving/load_request.h"
#include "cli/serving/load_servers.h"
#include "core/yaml_text.h"
#include "judge/campaign/plan_load.h"

namespace assay::cli {
namespace {

constexpr std::string_view after_dashes = "after --";

/// "8" of --requests, "on" of a flag, "[a, b]" of an option that was given twice.
std::string value_of(const Arguments& arguments, const Option& option) {
  if (option.value.empty()) return "on";
  std::vector<std::string> values;
  for (const std::string& value : arguments.all(option.name)) values.push_back(yaml_scalar(value));
  return values.size() == 1 ? values.front() : fmt::format("[{}]", fmt::join(values, ", "));
}

}  // namespace

std::vector<std::string> words_before_load(const std::vector<std::string>& words) {
  const auto end = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word == "load" || word.starts_with('-');
  });
  return {words.begin(), end};
}

Result<PlannedLoad> planned_load(std::vector<std::string> words) {
  if (words.empty() || words.front() != "load") words.insert(words.begin(), "load");
  const auto parsed = parse(words);
  if (!parsed.ok()) return about(after_dashes, parsed.error());
  const Arguments& arguments = parsed->arguments;
  std::vector<std::string> keys, servers;
  for (const Option& option : all_options(*parsed->command)) {
    if (!arguments.has(option.name)) continue;
    const std::string key(option.name.substr(2));
    const std::string text = fmt::format("{}: {}", key, value_of(arguments, option));
    if (key == "url" || key == "spawn" || key == "servers") {
      servers.push_back(text);
    } else if (std::count(load_keys().begin(), load_keys().end(), key) > 0) {
      keys.push_back(text);
    } else {
      return Error{ErrorKind::usage,
                   fmt::format("after --: {} is not allowed in a campaign; allowed are --url, "
                               "--spawn, --servers and what says how much is sent, as "
                               "--max-concurrency 4,16",
                               option.name)};
    }
  }
  const auto request = read_load_request(arguments);
  if (!request.ok()) return about(after_dashes, request.error());
  const auto spawn = read_spawn(arguments);
  if (!spawn.ok()) return about(after_dashes, spawn.error());
  if (!*spawn && request->urls.empty()) {
    return Error{ErrorKind::usage,
                 "after --: the load needs servers: --url http://127.0.0.1:8000, or --spawn \"vllm "
                 "serve MODEL --port {port}\""};
  }
  return PlannedLoad{fmt::format("load: {{{}}}\n", fmt::join(keys, ", ")),
                     fmt::format("{}", fmt::join(servers, ", "))};
}

bool starts_servers(const PlannedLoad& load) {
  return load.servers.find("spawn: ") != std::string::npos;
}

}  // namespace assay::cli
