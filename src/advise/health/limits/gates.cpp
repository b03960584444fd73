#include "advise/health/limits/gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "advise/health/limits/limits.h"
#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "core/yaml_text.h"

namespace assay::health {
namespace {

namespace fs = std::filesystem;

/// cvs's own placeholder for "at most".
constexpr double huge = 1e6;

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest == text.data()) return std::nullopt;
  return value;
}

/// Returns whether 0 is what a sound machine has: nothing failed.
bool counts_faults(std::string_view name) {
  constexpr std::array words = {"failed",     "failures", "errors",
                                "violations", "retries",  "timeouts"};
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.ends_with(word); });
}

/// Judges "at least" or "at most" of a quantity that is never below 0.
Gate gate_of(std::string name, bool at_least, double value) {
  Gate gate;
  gate.limit = fmt::format("at {} {:.15g}", at_least ? "least" : "most", value);
  gate.placeholder = value == 0 || value >= huge;
  if (at_least && value <= 0) {
    gate.state = GateState::never_fails;
    gate.why = "no rate, share or count is below 0";
  } else if (!at_least && value >= huge) {
    gate.state = GateState::never_fails;
    gate.why = "1,000,000 and more stand for a limit that nobody has set";
  } else if (!at_least && (value < 0 || (value == 0 && !counts_faults(name)))) {
    gate.state = GateState::never_passes;
    gate.why = "every time and size is above 0";
  }
  gate.name = std::move(name);
  return gate;
}

// --- cvs

std::optional<Gate> cvs_gate(const std::string& name, const Json& spec) {
  if (!spec.contains("kind") || !spec.contains("value") || !spec["kind"].is_string() ||
      !spec["value"].is_number()) {
    return std::nullopt;
  }
  const std::string kind = spec["kind"];
  const double value = spec["value"];
  if (kind == "info") {
    Gate gate{name, fmt::format("{:.15g}", value), GateState::records_only, "kind info", false};
    return gate;
  }
  if (kind == "within") {
    const bool has_percent = spec.contains("tolerance_pct") && spec["tolerance_pct"].is_number();
    const double percent = has_percent ? spec["tolerance_pct"].get<double>() : 0;
    Gate gate{name, fmt::format("within {:g}% of {:.15g}", percent, value), {}, "", false};
    if (percent >= 100) {
      gate.state = GateState::never_fails;
      gate.why = "0 is within the tolerance";
    }
    return gate;
  }
  return gate_of(name, kind.starts_with("min"), value);
}

void add_cvs_gates(const Json& json, const std::string& path, std::vector<Gate>& gates) {
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    const std::string name = path.empty() ? key : path + ": " + key;
    if (!value.is_object()) continue;
    if (auto gate = cvs_gate(name, value)) {
      gates.push_back(*std::move(gate));
    } else {
      add_cvs_gates(value, name, gates);
    }
  }
}

// --- RVS

Result<std::optional<GateFile>> rvs_gates(const YamlValue& root, GateFile file) {
  const auto member = [](const YamlValue& map, std::string_view key) -> const YamlValue* {
    for (std::size_t i = 0; i < map.keys.size(); ++i) {
      if (map.keys[i].text == key) return &map.items[i];
    }
    return nullptr;
  };
  const YamlValue* actions = member(root, "actions");
  if (actions == nullptr || actions->kind != YamlValue::Kind::list)
    return std::optional<GateFile>();
  file.format = "RVS";
  for (const YamlValue& action : actions->items) {
    const YamlValue* name = member(action, "name");
    const std::string called = name == nullptr ? fmt::format("line {}", action.line) : name->text;
    bool limited = false;
    for (const char* key : {"target_stress", "target_power", "target_temp"}) {
      const YamlValue* target = member(action, key);
      const auto value = target == nullptr ? std::nullopt : number_in(target->text);
      if (!value) continue;
      limited = true;
      double least = *value;
      const YamlValue* tolerance = member(action, "tolerance");
      if (tolerance != nullptr) least *= 1 - number_in(tolerance->text).value_or(0);
      file.gates.push_back(gate_of(called + ": " + key, true, least));
    }
    if (!limited) ++file.without_limit;
  }
  return std::optional(std::move(file));
}

// --- NHC: "hostmask || check arguments"

/// The least and the most that a check of a size or number allows: "check_hw_physmem 8GB 16GB 5%".
std::optional<Gate> nhc_range(const std::string& name, const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) return std::nullopt;
  const auto least = number_in(arguments[0]), most = number_in(arguments[1]);
  if (!least || !most) return std::nullopt;
  Gate gate{name, fmt::format("{} to {}", arguments[0], arguments[1]), {}, "", false};
  const double fudge = arguments.size() > 2 ? number_in(arguments[2]).value_or(0) : 0;
  const bool percent = arguments.size() > 2 && arguments[2].ends_with('%');
  if (*least > *most) {
    gate.state = GateState::never_passes;
    gate.why = "the least is above the most";
  } else if (percent && fudge >= 100) {
    gate.state = GateState::never_fails;
    gate.why = "the tolerance is 100% or more";
  }
  return gate;
}

Gate nhc_gate(const std::string& check, const std::vector<std::string>& arguments) {
  constexpr std::array ranges = {"check_hw_physmem", "check_hw_physmem_free",
                                 "check_hw_swap",    "check_hw_swap_free",
                                 "check_hw_mem",     "check_hw_mem_free"};
  const std::string name = fmt::format("{} {}", check, fmt::join(arguments, " "));
  if (std::find(ranges.begin(), ranges.end(), check) != ranges.end()) {
    if (auto gate = nhc_range(name, arguments)) return *std::move(gate);
  }
  const bool bandwidth = check.find("_bw") != std::string::npos ||
                         check.find("allreduce") != std::string::npos ||
                         check.find("count") != std::string::npos;
  const auto value = arguments.empty() ? std::nullopt : number_in(arguments.front());
  if (bandwidth && value) return gate_of(name, true, *value);
  return {name, "as the check says", GateState::gates, "", false};
}

std::optional<GateFile> nhc_gates(std::string_view text, GateFile file) {
  file.format = "NHC";
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t bars = line.find("||");
    if (bars == std::string::npos || line.find('#') < bars) continue;
    std::istringstream words(line.substr(bars + 2));
    std::string check;
    words >> check;
    if (!check.starts_with("check_")) continue;
    std::vector<std::string> arguments;
    for (std::string word; words >> word && !word.starts_with('#');) arguments.push_back(word);
    file.gates.push_back(nhc_gate(check, arguments));
  }
  if (file.gates.empty()) return std::nullopt;
  return file;
}

/// What the configuration that belongs to a threshold file of cvs says: only
/// "enforce_thresholds": true makes its gates count.
std::optional<bool> enforced_beside(const fs::path& file) {
  constexpr std::string_view ending = "_threshold.json";
  const std::string path = file.string();
  if (!path.ends_with(ending)) return std::nullopt;
  const std::string stem = path.substr(0, path.size() - ending.size());
  for (const char* other : {"_config.json", ".json"}) {
    std::error_code ignored;
    if (!fs::exists(stem + other, ignored)) continue;
    const auto text = read_file(stem + other);
    const Json json = text ? try_parse_json(*text) : Json();
    if (json.is_object() && json.contains("enforce_thresholds") &&
        json["enforce_thresholds"].is_boolean()) {
      return json["enforce_thresholds"].get<bool>();
    }
  }
  return std::nullopt;
}

constexpr std::size_t most_gate_bytes = std::size_t{16} << 20;

Result<std::vector<fs::path>> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error), end;
  for (; !error && at != end; at.increment(error)) {
    const std::string ending = at->path().extension().string();
    const bool known =
        ending == ".json" || ending == ".conf" || ending == ".yaml" || ending == ".yml";
    std::error_code ignored;
    if (known && at->is_regular_file(ignored)) files.push_back(at->path());
  }
  if (error) {
    return Error{ErrorKind::file,
                 fmt::format("{}: cannot be listed: {}", folder.string(), error.message())};
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::string_view name_of(GateState state) {
  switch (state) {
    case GateState::gates:
      return "gates";
    case GateState::never_fails:
      return "never fails";
    case GateState::never_passes:
      return "never passes";
    case GateState::records_only:
      break;
  }
  return "only recorded";
}

std::size_t GateFile::count(GateState state) const {
  return static_cast<std::size_t>(std::count_if(
      gates.begin(), gates.end(), [&](const Gate& gate) { return gate.state == state; }));
}

Result<std::optional<GateFile>> parse_gates(std::string_view text, const std::string& file) {
  GateFile result;
  result.file = file;
  const std::string ending = fs::path(file).extension().string();
  if (ending == ".json") {
    const auto json = parse_json(text);
    if (!json.ok()) {
      return Error{ErrorKind::usage, fmt::format("{}: {}", file, json.error().message)};
    }
    add_cvs_gates(*json, "", result.gates);
    if (result.gates.empty()) return std::optional<GateFile>();
    result.format = "cvs";
    return std::optional(std::move(result));
  }
  if (text.find("||") != std::string_view::npos) {
    if (auto found = nhc_gates(text, result)) return std::optional(*std::move(found));
  }
  const YamlValue root = TRY(parse_yaml(text, file));
  const bool own = std::any_of(root.keys.begin(), root.keys.end(),
                               [](const YamlValue::Key& key) { return key.text == "limits"; });
  if (!own) return rvs_gates(root, std::move(result));
  result.format = "assay";
  for (const LimitLine& line : TRY(parse_limits(text, file)).lines) {
    result.gates.push_back({line.what(), line.limit_text(), GateState::gates, "", false});
  }
  return std::optional(std::move(result));
}

static Error no_gates(std::string_view where) {
  return {ErrorKind::usage,
          fmt::format("{}: no gates; known are threshold files of cvs (.json), configurations of "
                      "RVS and NHC (.conf), and assay's limits (.yaml)",
                      where)};
}

Result<std::vector<GateFile>> read_gates(const std::vector<std::string>& paths) {
  std::vector<GateFile> all;
  const auto read = [&](const fs::path& path, bool named) -> Status {
    const std::string text = TRY(read_operand(path, most_gate_bytes));
    auto parsed = parse_gates(text, path.string());
    if (!parsed.ok()) {
      if (named) return parsed.error();
      GateFile unread;
      unread.file = path.string();
      unread.problem = parsed.error().message;
      all.push_back(std::move(unread));
      return {};
    }
    if (!*parsed && named) return no_gates(path.string());
    if (*parsed) {
      all.push_back(**std::move(parsed));
      all.back().enforced = enforced_beside(path);
    }
    return {};
  };
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      TRY(read(path, true));
      continue;
    }
    for (const fs::path& file : TRY(files_below(path))) TRY(read(file, false));
  }
  if (all.empty()) return no_gates(fmt::format("{}", fmt::join(paths, ", ")));
  return all;
}

}  // namespace assay::health
