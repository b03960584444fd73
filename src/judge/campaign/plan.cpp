#include "judge/campaign/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "core/read_file.h"
#include "judge/campaign/plan_load.h"
#include "machine/telemetry/recorder.h"
#include "measure/sampling/external.h"
#include "measure/suites/cells_of_target.h"
#include "measure/suites/suite.h"
#include "results/store/campaign_reader.h"

namespace assay {
namespace {

const std::vector<std::string>& plan_keys() {
  static const std::vector<std::string> keys = {
      "name",      "description", "subject", "seed",        "margin",  "pairs",        "control",
      "budget",    "suite",       "axes",    "suites",      "cells",   "load",         "device",
      "telemetry", "ranks",       "hosts",   "unit_budget", "timeout", "environments", "study"};
  return keys;
}

class PlanReader {
 public:
  PlanReader(YamlReader root, CampaignPlan& plan) : root_(root), plan_(plan) {}

  Status read() {
    plan_.name = TRY(root_.text("name"));
    TRY(root_.count("seed", 0, UINT64_MAX, plan_.seed));
    TRY(root_.share("margin", least_margin, most_margin, plan_.margin));
    TRY(read_pairs());
    TRY(root_.flag("control", plan_.control));
    TRY(root_.duration("budget", plan_.budget_seconds));
    TRY(root_.duration("unit_budget", plan_.unit_budget_seconds));
    TRY(root_.optional("device", plan_.device));
    TRY(root_.optional("telemetry", plan_.telemetry));
    if (!plan_.telemetry.empty()) {
      const auto interval = parse_tick_rate(plan_.telemetry);
      if (!interval.ok()) {
        return root_.wrong("telemetry", "\"telemetry\": " + interval.error().message);
      }
    }
    constexpr std::uint64_t most_ranks = 4096;
    TRY(root_.count("ranks", 1, most_ranks, plan_.ranks));
    TRY(root_.optional("hosts", plan_.hosts));
    TRY(read_suites());
    TRY(read_environments());
    TRY(read_study());
    if (plan_.environments.size() < 2 && !plan_.control && !plan_.study) {
      return root_.wrong("environments",
                         "one environment alone needs control: on, which measures "
                         "it against itself, or a second environment");
    }
    return {};
  }

 private:
  Status read_pairs() {
    constexpr std::uint64_t least_allowed = 2, most_allowed = most_campaign_pairs;
    const YamlValue* value = root_.find("pairs");
    if (value == nullptr) return {};
    const YamlReader pairs = TRY(
        YamlReader::of(*value, plan_.file, "\"pairs\" must be a map, e.g. {least: 10, most: 40}",
                       {"least", "most"}));
    TRY(pairs.count("least", least_allowed, most_allowed, plan_.least_pairs));
    TRY(pairs.count("most", least_allowed, most_allowed, plan_.most_pairs));
    if (plan_.least_pairs > plan_.most_pairs) {
      return pairs.wrong("most", fmt::format("\"most\" ({}) must not be less than \"least\" ({})",
                                             plan_.most_pairs, plan_.least_pairs));
    }
    return {};
  }

  /// A suite file's path is relative to the plan; names of suites and benchmarks are not changed.
  std::string target_of(const std::string& suite) const {
    if (!is_suite_file(suite) || std::filesystem::path(suite).is_absolute()) return suite;
    return std::filesystem::path(plan_.file).parent_path() / suite;
  }

  Result<std::vector<AxisSetting>> axes_of(const YamlReader& map) const {
    std::vector<AxisSetting> axes;
    const YamlValue* value = map.find("axes");
    if (value == nullptr) return axes;
    if (value->kind != YamlValue::Kind::map) {
      return map.wrong("axes", "\"axes\" must be a map, e.g. {op: [copy, triad]}");
    }
    for (const auto& [setting, line] : TRY(read_axis_settings(*value, plan_.file))) {
      axes.push_back(setting);
    }
    return axes;
  }

  Status read_suites() {
    const YamlValue* list = root_.find("suites");
    const bool one = root_.find("suite") != nullptr;
    if (list != nullptr && one) {
      return root_.wrong("suites", "a plan has either \"suite\" or \"suites\"");
    }
    if (list == nullptr && !one && !has_own_cells()) {
      return root_.wrong(root_.value(),
                         "a plan needs \"suite\", \"suites\", \"cells\" or \"load\"");
    }
    if (one) TRY(add_suite(root_));
    if (list != nullptr) TRY(add_suites(*list));
    TRY(add_cells());
    TRY(add_load());
    // Suites share one unit, and a budget for some of their cells would be one for all.
    if (!plan_.unit_budget_seconds && !has_own_cells()) plan_.unit_budget_seconds = suites_budget_;
    if (std::any_of(all_.entries.begin(), all_.entries.end(),
                    [](const SuiteEntry& entry) { return entry.command.has_value(); })) {
      plan_.commands = all_;
    }
    return {};
  }

  Status add_suites(const YamlValue& list) {
    if (root_.find("axes") != nullptr) {
      return root_.wrong("axes", "with \"suites\", put \"axes\" into its entries");
    }
    if (list.kind != YamlValue::Kind::list || list.items.empty()) {
      return root_.wrong("suites", "\"suites\" must be a list of {suite, axes}");
    }
    for (const YamlValue& item : list.items) {
      const YamlReader map = TRY(YamlReader::of(
          item, plan_.file, "a suite is a map with suite and axes", {"suite", "axes"}));
      TRY(add_suite(map));
    }
    return {};
  }

  Status add_suite(const YamlReader& map) {
    const std::string name = TRY(map.text("suite"));
    const std::string target = target_of(name);
    const std::vector<AxisSetting> axes = TRY(axes_of(map));
    const auto cells = make_plan(target, axes);
    if (!cells.ok()) return map.wrong("suite", cells.error().message);
    if (const Status known = check_formats(cells->commands); !known.ok()) {
      return map.wrong("suite", known.error().message);
    }
    count(cells->cells.size(), cells->commands, cells->budget_seconds.value_or(0));
    const bool all_have = suites_budget_ && cells->budget_seconds;
    suites_budget_ = all_have ? *suites_budget_ + *cells->budget_seconds : std::optional<double>();
    return add_target(map, target, axes);
  }

  /// Adds cells to the plan's number, and to its time what they take at most.
  void count(std::size_t cells, const std::vector<ExternalCommand>& commands, double budget) {
    plan_.cells += cells;
    const double each = 30;  // a cell takes some seconds; a hanging one never ends
    double longest = static_cast<double>(cells) * each;
    for (const ExternalCommand& command : commands) longest += command.timeout_seconds;
    seconds_ += std::max(longest, 3 * budget);
  }

  /// A suite or benchmark that every assay knows is passed by name; one that only this machine has
  /// is passed as a suite on one line.
  Status add_target(const YamlReader& map, const std::string& target,
                    const std::vector<AxisSetting>& axes) {
    Suite suite;
    suite.name = target;
    suite.description = target;
    const auto loaded = suite_of(target);
    if (!loaded.ok()) return map.wrong("suite", loaded.error().message);
    if (*loaded) suite = **loaded;
    if (!*loaded) suite.entries.push_back({target, {}, {}, 1});  // a benchmark
    const bool only_one = !has_own_cells() && (root_.find("suites") == nullptr ||
                                               root_.find("suites")->items.size() == 1);
    if (only_one && !is_suite_file(target)) {
      plan_.measure = {"run", target};
      for (const auto& [axis, values] : axes) {
        plan_.measure.push_back(fmt::format("{}={}", axis, values));
      }
      return {};
    }
    // Entries of all suites become one suite; each keeps its own overrides.
    const Suite merged = TRY(parse_suite(inline_text(suite, axes), target));
    all_.entries.insert(all_.entries.end(), merged.entries.begin(), merged.entries.end());
    return measure_all(map, "suite");
  }

  /// Measures all entries so far, as a suite on one line.
  Status measure_all(const YamlReader& map, std::string_view key) {
    all_.name = plan_.name;
    all_.description = plan_.name;
    constexpr std::size_t most_bytes = 120'000;  // Linux allows 128 KiB for one argument
    const std::string text = inline_text(all_, {});
    if (text.size() > most_bytes) {
      return map.wrong(key,
                       "the suites are too long to be passed to another machine; use fewer "
                       "cells, or sweeps (1MiB..8GiB*2) in place of lists");
    }
    if (const auto cells = cells_of(all_, {}); !cells.ok()) {
      return map.wrong(key, cells.error().message);
    }
    plan_.measure = {"run", text};
    return {};
  }

  /// Returns whether the plan measures something besides suites.
  bool has_own_cells() const {
    return root_.find("cells") != nullptr || root_.find("load") != nullptr;
  }

  /// Adds the plan's own cells, which are written as a suite's.
  Status add_cells() {
    const YamlValue* value = root_.find("cells");
    if (value == nullptr) return {};
    Suite own;
    own.name = own.description = plan_.name;
    own.file = plan_.file;
    own.entries = TRY(read_suite_cells(*value, plan_.file));
    std::vector<ExternalCommand> commands;
    for (const SuiteEntry& entry : own.entries) {
      if (entry.command) commands.push_back(*entry.command);
    }
    if (const Status known = check_formats(commands); !known.ok()) {
      return root_.wrong("cells", known.error().message);
    }
    if (root_.find("suite") == nullptr) {  // else its axes are the suite's
      const std::vector<AxisSetting> axes = TRY(axes_of(root_));
      if (const auto fitting = cells_of(own, axes); !fitting.ok()) {
        return root_.wrong("axes", fitting.error().message);
      }
      own = TRY(parse_suite(inline_text(own, axes), plan_.file));
    }
    count(TRY(cells_of(own, {})).size(), commands, 0);
    all_.entries.insert(all_.entries.end(), own.entries.begin(), own.entries.end());
    return measure_all(root_, "cells");
  }

  Status add_load() {
    const YamlValue* value = root_.find("load");
    if (value == nullptr) return {};
    SuiteEntry entry;
    entry.command = TRY(read_load(*value, plan_.file, plan_.seed));
    ++plan_.cells;
    seconds_ += entry.command->timeout_seconds;
    all_.entries.push_back(std::move(entry));
    return measure_all(root_, "load");
  }

  /// Returns an empty optional for a benchmark's name.
  static Result<std::optional<Suite>> suite_of(const std::string& target) {
    if (is_suite_file(target)) return std::optional(TRY(load_suite(target)));
    for (Suite& suite : TRY(built_in_suites())) {
      if (suite.name == target) return std::optional(std::move(suite));
    }
    return std::optional<Suite>();
  }

  Status read_environments() {
    const YamlValue* list = root_.find("environments");
    if (list == nullptr || list->kind != YamlValue::Kind::list || list->items.empty()) {
      return root_.wrong("environments",
                         "\"environments\" must be a list of {name, kind, ...}; the first is the "
                         "baseline");
    }
    const bool has_load = root_.find("load") != nullptr;
    std::vector<std::string> own_keys = {"name"};
    if (has_load) own_keys.insert(own_keys.end(), {"url", "spawn", "servers"});
    std::set<std::string> names;
    for (const YamlValue& item : list->items) {
      PlannedEnvironment environment;
      environment.where = TRY(read_environment(item, plan_.file, own_keys));
      std::vector<std::string> given;
      for (const YamlValue::Key& key : item.keys) given.push_back(key.text);
      const YamlReader map = TRY(YamlReader::of(item, plan_.file, "", given));
      environment.name = TRY(map.text("name"));
      environment.kind = TRY(map.text("kind"));
      TRY(check_name(map, environment.name));
      TRY(map.optional("variables", environment.variables));
      for (const auto& [variable, text] : environment.variables) {
        if (!variable.empty() && variable.find('=') == std::string::npos) continue;
        return map.wrong("variables", fmt::format("\"{}\" is not a variable's name; allowed: "
                                                  "one or more characters other than =",
                                                  variable));
      }
      if (has_load) environment.servers = TRY(read_load_servers(map));
      if (!names.insert(environment.name).second) {
        return map.wrong("name", fmt::format("two environments are named {}", environment.name));
      }
      plan_.environments.push_back(std::move(environment));
    }
    std::optional<double> timeout;
    TRY(root_.duration("timeout", timeout));
    constexpr double start_up = 300;  // for pulling an image or waiting in a queue
    plan_.unit_timeout_seconds =
        timeout.value_or(start_up + std::max(seconds_, 3 * plan_.unit_budget_seconds.value_or(0)));
    return {};
  }

  /// Checks a name: names become folders, and some are reserved.
  Status check_name(const YamlReader& map, const std::string& name) const {
    const bool plain = name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
                         return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
                       });
    const std::set<std::string> taken = {campaign_plan_name, campaign_units_name,
                                         "dstack-files",     "lock",
                                         "measure.json",     "study.json"};
    if (!plain || name.front() == '.' || name.front() == '-' || taken.count(name) > 0 ||
        name.ends_with("-control") || name.ends_with("-together")) {
      return map.wrong(
          "name", fmt::format("\"{}\" cannot be a name; allowed: letters, digits, - _ . except "
                              "names that the campaign uses (...-control, ...-together, lock)",
                              name));
    }
    return {};
  }

  Status read_study() {
    const YamlValue* value = root_.find("study");
    if (value == nullptr) return {};
    const YamlReader map =
        TRY(YamlReader::of(*value, plan_.file, "\"study\" must be a map with each, together, whole",
                           {"each", "together", "whole"}));
    StudyPlan study;
    study.each = TRY(map.texts("each"));
    study.together = study.each;
    TRY(map.optional("together", study.together));
    TRY(map.optional("whole", study.whole));
    for (const std::string& name : study.each) {
      TRY(check_part(map, "each", name));
      if (std::count(study.each.begin(), study.each.end(), name) != 1) {
        return map.wrong("each", fmt::format("{} is there twice; name each once", name));
      }
    }
    for (const std::string& name : study.together) {
      TRY(check_part(map, "together", name));
      if (std::count(study.each.begin(), study.each.end(), name) == 0) {
        return map.wrong("together", fmt::format("{} must also be in \"each\"", name));
      }
      if (std::count(study.together.begin(), study.together.end(), name) != 1) {
        return map.wrong("together", fmt::format("{} is there twice; name each once", name));
      }
    }
    if (study.together.size() < 2) {
      return map.wrong("together", "\"together\" needs at least two partitions");
    }
    const bool measured_before = study.whole.find('/') != std::string::npos;
    if (!study.whole.empty() && !measured_before && find(study.whole) == nullptr) {
      return map.wrong("whole", fmt::format("there is no environment {}", study.whole));
    }
    if (measured_before) study.whole_before = std::exchange(study.whole, {});
    plan_.study = std::move(study);
    plan_.control = false;
    return {};
  }

  const PlannedEnvironment* find(const std::string& name) const {
    for (const PlannedEnvironment& environment : plan_.environments) {
      if (environment.name == name) return &environment;
    }
    return nullptr;
  }

  Status check_part(const YamlReader& map, const char* key, const std::string& name) const {
    const PlannedEnvironment* environment = find(name);
    if (environment == nullptr) {
      return map.wrong(key, fmt::format("there is no environment {}", name));
    }
    if (environment->kind != "partition") {
      return map.wrong(key, fmt::format("{} is of kind {}; a study needs kind partition", name,
                                        environment->kind));
    }
    return {};
  }

  YamlReader root_;
  CampaignPlan& plan_;
  Suite all_;
  double seconds_ = 0;  // the most seconds that the suites may take
  // The sum of the suites' budgets; empty if one of them has none.
  std::optional<double> suites_budget_ = 0;
};

}  // namespace

Result<CampaignPlan> parse_campaign_plan(std::string_view yaml, const std::string& file) {
  CampaignPlan plan;
  plan.file = file;
  plan.text = yaml;
  const YamlValue root = TRY(parse_yaml(yaml, file));
  const YamlReader reader = TRY(YamlReader::of(
      root, plan.file, "a plan is a map with name, suite, environments", plan_keys()));
  TRY(PlanReader(reader, plan).read());
  return plan;
}

Result<CampaignPlan> load_campaign_plan(const std::string& path) {
  constexpr std::size_t most_bytes = std::size_t{16} << 20;
  return parse_campaign_plan(TRY(read_operand(path, most_bytes)), path);
}

std::string plan_difference(std::string_view name, std::string_view before, std::string_view now) {
  const auto next_line = [](std::string_view& text) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t last = line.find_last_not_of(" \t\r");
    return line.substr(0, last == std::string_view::npos ? 0 : last + 1);
  };
  for (int number = 1; !before.empty() || !now.empty(); ++number) {
    const std::string_view was = next_line(before), is = next_line(now);
    if (was != is) {
      return fmt::format("{}:{}: was \"{}\", is \"{}\"", name, number, was, is);
    }
  }
  return {};
}

}  // namespace assay
