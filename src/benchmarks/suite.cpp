#include "benchmarks/suite.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <unordered_set>

#include "core/embedded.h"
#include "core/suggest.h"
#include "core/units.h"

namespace assay {
namespace {

Error at_line(std::string_view file, int line, std::string_view message) {
  return {ErrorKind::usage, fmt::format("{}:{}: {}", file, line, message)};
}

/// Turns YAML nodes into suites; every error names the file and the node's line.
class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  Result<Suite> suite(const YAML::Node& root) const {
    if (!root.IsMap()) return wrong(root, "a suite is a map with name, description, cells");
    TRY(check_keys(root, {"name", "description", "budget", "cells"}));
    Suite suite;
    suite.file = file_;
    suite.name = TRY(text(root, "name"));
    suite.description = TRY(text(root, "description"));
    if (const YAML::Node budget = root["budget"]) {
      auto seconds = parse_duration(TRY(text(root, "budget")));
      if (!seconds.ok()) return wrong(budget, seconds.error().message);
      suite.budget_seconds = *seconds;
    }
    const YAML::Node cells = root["cells"];
    if (!cells || !cells.IsSequence() || cells.size() == 0) {
      return wrong(cells ? cells : root, "\"cells\" must be a list of {benchmark, axes}");
    }
    for (const YAML::Node& item : cells) suite.entries.push_back(TRY(entry(item)));
    return suite;
  }

 private:
  static int line_of(const YAML::Node& node) { return std::max(1, node.Mark().line + 1); }
  Error wrong(const YAML::Node& node, std::string_view message) const {
    return at_line(file_, line_of(node), message);
  }

  /// Every key is one of `allowed`, and none is given twice (YAML itself would keep the first).
  Status check_keys(const YAML::Node& map, const std::vector<std::string>& allowed) const {
    std::unordered_set<std::string> seen;
    for (const auto& pair : map) {
      const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : "?";
      if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), key) == allowed.end()) {
        return wrong(pair.first, fmt::format("unknown key \"{}\"{}; allowed: {}", key,
                                             did_you_mean(key, allowed), join(allowed)));
      }
      if (!seen.insert(key).second) {
        return wrong(pair.first, fmt::format("key \"{}\" is given twice", key));
      }
    }
    return {};
  }

  Result<std::string> text(const YAML::Node& map, const char* key) const {
    const YAML::Node node = map[key];
    if (!node) return wrong(map, fmt::format("\"{}\" is missing", key));
    if (!node.IsScalar() || node.Scalar().empty()) {
      return wrong(node, fmt::format("\"{}\" must be one line of text", key));
    }
    return node.Scalar();
  }

  Result<SuiteEntry> entry(const YAML::Node& item) const {
    if (!item.IsMap()) return wrong(item, "a cell is a map with benchmark and axes");
    TRY(check_keys(item, {"benchmark", "axes"}));
    SuiteEntry entry;
    entry.line = line_of(item);
    entry.benchmark = TRY(text(item, "benchmark"));
    const YAML::Node axes = item["axes"];
    if (!axes) return entry;
    if (!axes.IsMap()) return wrong(axes, "\"axes\" must be a map, e.g. {op: [copy, triad]}");
    TRY(check_keys(axes, {}));
    for (const auto& pair : axes) {
      if (!pair.first.IsScalar()) return wrong(pair.first, "an axis name must be text");
      entry.settings.push_back(
          {{pair.first.Scalar(), TRY(values(pair.first, pair.second))}, line_of(pair.first)});
    }
    return entry;
  }

  Result<std::string> values(const YAML::Node& axis, const YAML::Node& node) const {
    std::vector<std::string> items;
    if (node.IsScalar()) items.push_back(node.Scalar());
    if (node.IsSequence()) {
      for (const YAML::Node& item : node) {
        items.push_back(item.IsScalar() ? item.Scalar() : std::string());
      }
    }
    if (items.empty() || std::count(items.begin(), items.end(), std::string()) > 0) {
      return wrong(axis, fmt::format("axis {} needs a value or a list of values", axis.Scalar()));
    }
    return join(items, ",");
  }

  std::string file_;
};

std::vector<std::string> benchmark_names() {
  std::vector<std::string> names;
  for (const Benchmark* benchmark : benchmarks()) names.emplace_back(benchmark->name());
  return names;
}

/// The entry's own settings with overrides in their place; checks the entry's settings one by one
/// so that an error can name its line.
Result<std::vector<AxisSetting>> merged_settings(const Suite& suite, const SuiteEntry& entry,
                                                 const Benchmark& benchmark,
                                                 const std::vector<AxisSetting>& overrides) {
  for (const auto& [setting, line] : entry.settings) {
    const auto cells = expand_cells(benchmark.name(), benchmark.axes(), {setting});
    if (!cells.ok()) return at_line(suite.file, line, cells.error().message);
  }
  std::vector<AxisSetting> merged;
  for (const AxisSetting& override : overrides) {
    const auto& axes = benchmark.axes();
    if (std::any_of(axes.begin(), axes.end(),
                    [&](const Axis& axis) { return axis.name == override.axis; })) {
      merged.push_back(override);
    }
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

/// An override must fit at least one of the suite's benchmarks.
Status check_overrides(const Suite& suite, const std::vector<const Benchmark*>& used,
                       const std::vector<AxisSetting>& overrides) {
  std::vector<std::string> known;
  for (const Benchmark* benchmark : used) {
    for (const Axis& axis : benchmark->axes()) {
      if (std::find(known.begin(), known.end(), axis.name) == known.end()) {
        known.push_back(axis.name);
      }
    }
  }
  for (const AxisSetting& override : overrides) {
    if (std::find(known.begin(), known.end(), override.axis) == known.end()) {
      return Error{ErrorKind::usage,
                   fmt::format("suite {} has no axis \"{}\"{}; its axes: {}", suite.name,
                               override.axis, did_you_mean(override.axis, known), join(known))};
    }
  }
  return {};
}

}  // namespace

Result<Suite> parse_suite(std::string_view yaml, std::string_view file) {
  try {
    return Reader(file).suite(YAML::Load(std::string(yaml)));
  } catch (const YAML::Exception& error) {  // yaml-cpp reports by throwing; it ends here
    return at_line(file, error.mark.is_null() ? 1 : error.mark.line + 1, error.msg);
  }
}

Result<Suite> load_suite(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) {
    return Error{ErrorKind::usage, fmt::format("cannot read the suite {}: {}", path,
                                               std::strerror(errno == 0 ? EIO : errno))};
  }
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
    const Benchmark* benchmark = lookup(entry.benchmark);
    if (benchmark == nullptr) {
      const auto names = benchmark_names();
      return at_line(suite.file, entry.line,
                     fmt::format("unknown benchmark \"{}\"{}; allowed: {}", entry.benchmark,
                                 did_you_mean(entry.benchmark, names), join(names)));
    }
    used.push_back(benchmark);
  }
  TRY(check_overrides(suite, used, overrides));
  std::vector<Cell> cells;
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const auto settings = TRY(merged_settings(suite, suite.entries[i], *used[i], overrides));
    for (Cell& cell : TRY(expand_cells(used[i]->name(), used[i]->axes(), settings))) {
      if (seen.insert(cell.id()).second) cells.push_back(std::move(cell));
    }
  }
  return cells;
}

}  // namespace assay
