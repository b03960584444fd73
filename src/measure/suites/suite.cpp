#include "measure/suites/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "core/embedded.h"
#include "core/json.h"
#include "core/read_file.h"
#include "core/suggest.h"
#include "core/yaml_text.h"
#include "measure/grid/external_command.h"
#include "measure/suites/miopen_driver.h"

namespace assay {
namespace {

/// Turns YAML values into suites; every error names the file and the value's line.
class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  Result<Suite> suite(const YamlValue& root) const {
    const YamlReader map =
        TRY(YamlReader::of(root, file_, "a suite is a map with name, description, cells",
                           {"name", "description", "budget", "cells"}));
    Suite suite;
    suite.file = file_;
    suite.name = TRY(map.text("name"));
    suite.description = TRY(map.text("description"));
    TRY(map.duration("budget", suite.budget_seconds));
    const YamlValue* list = map.find("cells");
    if (list == nullptr) return map.wrong("cells", std::string(wrong_cells));
    suite.entries = TRY(cells(*list));
    return suite;
  }

  Result<std::vector<SuiteEntry>> cells(const YamlValue& list) const {
    if (list.kind != YamlValue::Kind::list || list.items.empty()) {
      return at_line(file_, list.line, std::string(wrong_cells));
    }
    std::vector<SuiteEntry> entries;
    for (const YamlValue& item : list.items) entries.push_back(TRY(entry(item)));
    return entries;
  }

 private:
  static constexpr std::string_view wrong_cells = "\"cells\" must be a list of {benchmark, axes}";

  Result<SuiteEntry> entry(const YamlValue& item) const {
    SuiteEntry entry;
    entry.line = item.line;
    const auto is_command = [](const YamlValue::Key& key) { return key.text == "command"; };
    if (std::any_of(item.keys.begin(), item.keys.end(), is_command)) {
      entry.command = TRY(read_external_command(item, file_));
      return entry;
    }
    const YamlReader map = TRY(YamlReader::of(
        item, file_, "a cell is a map with benchmark and axes", {"benchmark", "axes"}));
    entry.benchmark = TRY(map.text("benchmark"));
    const YamlValue* axes = map.find("axes");
    if (axes == nullptr) return entry;
    if (axes->kind != YamlValue::Kind::map) {
      return map.wrong(*axes, "\"axes\" must be a map, e.g. {op: [copy, triad]}");
    }
    entry.settings = TRY(read_axis_settings(*axes, file_));
    return entry;
  }

  std::string file_;
};

std::vector<std::string> benchmark_names() {
  std::vector<std::string> names;
  for (const Benchmark* benchmark : benchmarks()) names.emplace_back(benchmark->name());
  return names;
}

/// The settings of the entry, replaced by overrides where given. If the benchmark is null, because
/// only another assay knows it, its axes are those that the entry sets.
std::vector<AxisSetting> merge(const SuiteEntry& entry, const Benchmark* benchmark,
                               const std::vector<AxisSetting>& overrides) {
  const auto has = [&](const std::string& name) {
    return benchmark != nullptr
               ? std::ranges::find(benchmark->axes(), name, &Axis::name) != benchmark->axes().end()
               : std::ranges::any_of(entry.settings, [&](const SuiteEntry::Setting& one) {
                   return one.setting.axis == name;
                 });
  };
  std::vector<AxisSetting> merged;
  for (const AxisSetting& override : overrides) {
    if (has(override.axis)) merged.push_back(override);
  }
  for (const auto& [setting, line] : entry.settings) {
    const std::string& name = setting.axis;
    if (std::none_of(overrides.begin(), overrides.end(),
                     [&](const AxisSetting& override) { return override.axis == name; })) {
      merged.push_back(setting);
    }
  }
  return merged;
}

/// Merges settings and overrides after checking the entry's settings one by one, so that an error
/// can name its line.
Result<std::vector<AxisSetting>> merged_settings(const Suite& suite, const SuiteEntry& entry,
                                                 const Benchmark& benchmark,
                                                 const std::vector<AxisSetting>& overrides) {
  for (const auto& [setting, line] : entry.settings) {
    const auto cells = expand_cells(benchmark.name(), benchmark.axes(), {setting});
    if (!cells.ok()) return at_line(suite.file, line, cells.error().message);
  }
  return merge(entry, &benchmark, overrides);
}

/// Checks that every override fits at least one of the suite's benchmarks.
Status check_overrides(const Suite& suite, const std::vector<const Benchmark*>& used,
                       const std::vector<AxisSetting>& overrides) {
  std::vector<std::string> known;
  for (const Benchmark* benchmark : used) {
    if (benchmark == nullptr) continue;  // an external command
    for (const Axis& axis : benchmark->axes()) {
      if (std::find(known.begin(), known.end(), axis.name) == known.end()) {
        known.push_back(axis.name);
      }
    }
  }
  for (const AxisSetting& override : overrides) {
    if (std::find(known.begin(), known.end(), override.axis) == known.end()) {
      return Error{
          ErrorKind::usage,
          fmt::format("suite {} has no axis \"{}\"{}; its axes: {}", suite.name, override.axis,
                      did_you_mean(override.axis, known), fmt::join(known, ", "))};
    }
  }
  return {};
}

/// A command's name identifies its cell, so no benchmark and no other command may have it.
Status check_command(const Suite& suite, const SuiteEntry& entry, const BenchmarkLookup& lookup) {
  const std::string& name = entry.command->name;
  if (lookup(name) != nullptr) {
    return at_line(
        suite.file, entry.line,
        fmt::format("the command's name \"{}\" is that of a benchmark; choose another", name));
  }
  for (const SuiteEntry& other : suite.entries) {
    if (&other == &entry) break;
    if (other.command && other.command->name == name) {
      return at_line(suite.file, entry.line,
                     fmt::format("the command in line {} is also named \"{}\"; choose another name",
                                 other.line, name));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<SuiteEntry::Setting>> read_axis_settings(const YamlValue& axes,
                                                            std::string_view file) {
  std::vector<SuiteEntry::Setting> settings;
  for (std::size_t i = 0; i < axes.keys.size(); ++i) {
    const auto& [name, line] = axes.keys[i];
    const YamlValue& node = axes.items[i];
    std::vector<std::string> items;
    if (node.kind == YamlValue::Kind::text) items.push_back(node.text);
    for (const YamlValue& item : node.items) items.push_back(item.text);
    if (items.empty() || std::count(items.begin(), items.end(), std::string()) > 0) {
      return at_line(file, line, fmt::format("axis {} needs a value or a list of values", name));
    }
    settings.push_back({{name, fmt::format("{}", fmt::join(items, ","))}, line});
  }
  return settings;
}

Result<std::vector<SuiteEntry>> read_suite_cells(const YamlValue& cells, std::string_view file) {
  return Reader(file).cells(cells);
}

Result<Suite> parse_suite(std::string_view yaml, std::string_view file) {
  return Reader(file).suite(TRY(parse_yaml(yaml, file)));
}

std::string inline_text(const Suite& suite, const std::vector<AxisSetting>& overrides,
                        const BenchmarkLookup& lookup) {
  Json json, cells = Json::array();
  json["name"] = suite.name;
  json["description"] = suite.description;
  for (const SuiteEntry& entry : suite.entries) {
    if (entry.command) {
      cells.push_back(to_json(*entry.command));
      continue;
    }
    Json cell = {{"benchmark", entry.benchmark}};
    for (const auto& [axis, values] : merge(entry, lookup(entry.benchmark), overrides)) {
      cell["axes"][axis] = values;
    }
    cells.push_back(std::move(cell));
  }
  json["cells"] = std::move(cells);
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Result<Suite> load_suite(const std::string& path) {
  constexpr std::size_t most_bytes = std::size_t{16} << 20;
  const std::string text = TRY(read_operand(path, most_bytes));
  const bool is_yaml = path.ends_with(".yaml") || path.ends_with(".yml");
  if (!is_yaml && has_driver_commands(text)) return suite_of_driver_commands(text, path);
  return parse_suite(text, path);
}

Result<std::vector<Suite>> built_in_suites() {
  std::vector<Suite> suites;
  for (const EmbeddedFile& file : embedded_suites()) {
    suites.push_back(TRY(parse_suite(file.text, file.name)));
  }
  std::sort(suites.begin(), suites.end(),
            [](const Suite& a, const Suite& b) { return a.name < b.name; });
  return suites;
}

Result<std::vector<Cell>> cells_of(const Suite& suite, const std::vector<AxisSetting>& overrides,
                                   const BenchmarkLookup& lookup) {
  std::vector<const Benchmark*> used;
  for (const SuiteEntry& entry : suite.entries) {
    if (entry.command) {
      TRY(check_command(suite, entry, lookup));
      used.push_back(nullptr);
      continue;
    }
    const Benchmark* benchmark = lookup(entry.benchmark);
    if (benchmark == nullptr) {
      const auto names = benchmark_names();
      return at_line(suite.file, entry.line,
                     fmt::format("unknown benchmark \"{}\"{}; allowed: {}", entry.benchmark,
                                 did_you_mean(entry.benchmark, names), fmt::join(names, ", ")));
    }
    used.push_back(benchmark);
  }
  TRY(check_overrides(suite, used, overrides));
  std::vector<Cell> cells;
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i] == nullptr) {
      cells.emplace_back(suite.entries[i].command->name,
                         std::vector<std::pair<std::string, std::string>>());
      continue;
    }
    const auto settings = TRY(merged_settings(suite, suite.entries[i], *used[i], overrides));
    for (Cell& cell : TRY(expand_cells(used[i]->name(), used[i]->axes(), settings))) {
      if (seen.insert(cell.id()).second) cells.push_back(std::move(cell));
    }
  }
  return cells;
}

}  // namespace assay
