#include "advise/health/limits/derive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "core/input_file.h"
#include "core/json.h"
#include "core/yaml_text.h"
#include "results/store/comparable_metrics.h"
#include "results/store/store.h"
#include "statistics/multiplicity.h"
#include "statistics/outliers.h"
#include "statistics/summary.h"

namespace assay::health {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t least_nodes = 3;

/// The cell that acceptance judges: all pairs of a copy between GPUs together.
Cell judged_cell(const Cell& cell) {
  const std::string_view pattern = cell.text("pattern");
  if (pattern != "pair" && pattern != "both") return cell;
  return with_value(with_value(cell, "from", "all"), "to", "all");
}

struct SeriesOfNodes {
  std::string unit;
  Better better = Better::higher;
  std::vector<std::string> names;
  std::vector<double> log_times;  ///< one per node
};

/// The log of a node's worst GPU or pair, by series; larger is slower.
std::map<SeriesKey, std::pair<Figure, double>> values_of(const PopulationNode& node) {
  std::map<SeriesKey, std::map<std::string, std::vector<double>>> by_subject;
  std::map<SeriesKey, Figure> figures;
  for (const Record& record : node.records) {
    const std::vector<Figure> all = figures_of(record);
    if (all.empty() || !record.value) continue;  // only what assay measured itself
    const auto log = log_time(all.front().value, all.front().better);
    if (!log) continue;
    const SeriesKey key = {judged_cell(record.cell).id(), all.front().metric};
    const std::string subject =
        fmt::format("{} {} {} {}", record.device.uuid, record.device.ordinal,
                    record.cell.text("from"), record.cell.text("to"));
    by_subject[key][subject].push_back(*log);
    figures[key] = all.front();
  }
  std::map<SeriesKey, std::pair<Figure, double>> values;
  for (const auto& [key, subjects] : by_subject) {
    double worst = -HUGE_VAL;
    for (const auto& [subject, logs] : subjects) worst = std::max(worst, median(logs));
    values[key] = {figures[key], worst};
  }
  return values;
}

double value_of(double log, Better better) {
  return std::exp(better == Better::higher ? -log : log);
}

/// Rounds to five digits so that no node on the right side comes to the wrong one.
double rounded(double value, Better better) {
  constexpr int digits = 5;
  constexpr double of_logarithms = 1e-9;  // their own rounding, not worth a digit
  const double step = std::pow(10, std::floor(std::log10(value)) - (digits - 1));
  return step * (better == Better::higher ? std::floor(value / step * (1 + of_logarithms))
                                          : std::ceil(value / step * (1 - of_logarithms)));
}

std::vector<std::string> outlier_nodes(const SeriesOfNodes& series) {
  std::vector<std::string> outliers;
  const std::vector<double> p = holm_adjusted(outlier_p(series.log_times));
  constexpr double alpha = 0.05;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] < alpha) outliers.push_back(series.names[i]);
  }
  return outliers;
}

/// Error: usage, if the nodes cannot be one population.
Result<std::string> device_of(std::span<const PopulationNode> nodes) {
  std::set<std::string> names;
  for (const PopulationNode& node : nodes) {
    for (const Record& record : node.records) {
      if (record.device.emulated) {
        return Error{
            ErrorKind::usage,
            fmt::format("{}: its device is emulated; limits need measured times", node.name)};
      }
      if (record.value) names.insert(record.device.name);
    }
  }
  if (names.size() > 1) {
    return Error{ErrorKind::usage, fmt::format("the nodes have different devices: {}; make limits "
                                               "for each kind",
                                               fmt::join(names, ", "))};
  }
  return names.empty() ? "" : *names.begin();
}

std::string bound_word(const DerivedLine& line) {
  return line.better == Better::higher ? "at_least" : "at_most";
}

/// A number as short as it was rounded.
std::string number_text(double value) {
  return fmt::format("{:.6g}", value);
}

}  // namespace

Result<DerivedLimits> derive_limits(std::span<const PopulationNode> nodes, const DeriveRule& rule) {
  DerivedLimits limits;
  limits.rule = rule;
  limits.nodes = nodes.size();
  limits.device = TRY(device_of(nodes));
  if (nodes.size() < least_nodes && rule.per_run) {
    return Error{
        ErrorKind::usage,
        fmt::format("{} run{}; limits need at least {} of healthy machines, {} more", nodes.size(),
                    nodes.size() == 1 ? "" : "s", least_nodes, least_nodes - nodes.size())};
  }
  if (nodes.size() < least_nodes) {
    return Error{ErrorKind::usage,
                 fmt::format("{} node{}; limits need at least {} healthy ones, {} more (--per-run "
                             "takes every run as one, and then promises nothing about other nodes)",
                             nodes.size(), nodes.size() == 1 ? "" : "s", least_nodes,
                             least_nodes - nodes.size())};
  }
  std::map<SeriesKey, SeriesOfNodes> all;
  for (const PopulationNode& node : nodes) {
    for (const auto& [key, value] : values_of(node)) {
      SeriesOfNodes& series = all[key];
      series.unit = value.first.unit;
      series.better = value.first.better;
      series.names.push_back(node.name);
      series.log_times.push_back(value.second);
    }
  }
  std::erase_if(all, [&](const auto& item) {
    if (item.second.names.size() >= least_nodes) return false;
    limits.left_out.push_back(fmt::format("{}: only {} of {} nodes have it", item.first.cell,
                                          item.second.names.size(), nodes.size()));
    return true;
  });
  if (all.empty()) {
    return Error{ErrorKind::usage,
                 fmt::format("no cell was measured on {} nodes or more; `assay health accept` or "
                             "`assay run quick` on each of them gives the same cells",
                             least_nodes)};
  }
  // All lines together keep the promise if each keeps its part of the rate, and each may break it
  // with its part of the doubt.
  const auto lines = static_cast<double>(all.size());
  limits.per_line = {rule.rate / lines, 1 - (1 - rule.confidence) / lines};
  limits.nodes_for_any_distribution = least_for_tolerance_order(limits.per_line);
  for (const auto& [key, series] : all) {
    DerivedLine line;
    line.key = key;
    line.unit = series.unit;
    line.better = series.better;
    line.nodes = series.names.size();
    line.per_run = rule.per_run;
    line.median = value_of(median(series.log_times), series.better);
    line.worst = value_of(*std::max_element(series.log_times.begin(), series.log_times.end()),
                          series.better);
    line.tolerance = *upper_tolerance_limit(series.log_times, limits.per_line);
    line.deviation = sample_deviation(series.log_times);
    line.log_mean = mean(series.log_times);
    line.value = rounded(value_of(line.tolerance.value, series.better), series.better);
    line.outliers = outlier_nodes(series);
    limits.lines.push_back(std::move(line));
  }
  return limits;
}

Result<std::vector<PopulationNode>> read_population(const std::vector<std::string>& operands,
                                                    bool per_run) {
  std::vector<PopulationNode> nodes;
  const auto read = [&](const fs::path& path) -> Status {
    StoredRecords stored = TRY(read_records(path, Detail::summary));
    if (!per_run) {
      nodes.push_back({path.string(), std::move(stored.records)});
      return {};
    }
    std::map<std::string, std::vector<Record>> runs;
    for (Record& record : stored.records) runs[record.run].push_back(std::move(record));
    for (auto& [run, records] : runs) {
      nodes.push_back({fmt::format("{}:{}", path.string(), run), std::move(records)});
    }
    return {};
  };
  for (const std::string& operand : operands) {
    std::error_code ignored;
    if (!fs::is_directory(operand, ignored) ||
        fs::exists(fs::path(operand) / "records.jsonl", ignored)) {
      TRY(read(operand));
      continue;
    }
    const std::size_t before = nodes.size();
    for (const fs::path& folder : TRY(list_folder(operand))) {
      if (fs::exists(folder / "records.jsonl", ignored)) TRY(read(folder));
    }
    if (nodes.size() == before) {
      return Error{
          ErrorKind::usage,
          fmt::format("{}: neither a store nor a folder of stores, one for each node", operand)};
    }
  }
  return nodes;
}

double share_found(const DerivedLine& line, double slower) {
  if (!(line.deviation > 0)) return 1;
  const double factor = (line.tolerance.value - line.log_mean) / line.deviation;
  return tolerance_detection(line.nodes, factor, std::log1p(slower) / line.deviation);
}

std::string method_text(const DerivedLine& line) {
  const std::string_view nodes = line.per_run ? "runs" : "nodes";
  return line.tolerance.order > 0
             ? fmt::format("the {} of {} {}, for any distribution",
                           line.tolerance.order == 1
                               ? std::string("slowest")
                               : fmt::format("{}. slowest", line.tolerance.order),
                           line.nodes, nodes)
             : fmt::format("mean + {:.3f} deviations of log time of {} {}, if it is normal",
                           line.tolerance.factor, line.nodes, nodes);
}

std::string method_text(const DerivedLimits& limits) {
  std::string text = fmt::format(
      "one-sided tolerance limits: with {:g}% confidence at most {:g}% of {} fail any of the {} "
      "lines ({:.3g}% each); a {} counts by its worst GPU or pair",
      100 * limits.rule.confidence, 100 * limits.rule.rate,
      limits.rule.per_run ? "further runs of these machines" : "healthy nodes", limits.lines.size(),
      100 * limits.per_line.rate, limits.rule.per_run ? "run" : "node");
  const bool assumed =
      std::any_of(limits.lines.begin(), limits.lines.end(),
                  [](const DerivedLine& line) { return line.tolerance.order == 0; });
  if (assumed) {
    text += fmt::format(
        "; {0} {1} are too few to promise this for every distribution, so log times are taken as "
        "normal; {2} more {1} would do without",
        limits.nodes, limits.rule.per_run ? "runs" : "nodes",
        limits.nodes_for_any_distribution -
            std::min(limits.nodes, limits.nodes_for_any_distribution));
  }
  return text;
}

std::string limits_yaml(const DerivedLimits& limits, std::string_view name, std::string_view date) {
  std::string text = fmt::format(
      "name: {}\ndescription: {}\n", yaml_scalar(name),
      yaml_scalar(fmt::format("limits of {} {}", limits.nodes,
                              limits.rule.per_run ? "runs of healthy machines" : "healthy nodes")));
  if (!limits.device.empty()) text += fmt::format("devices: [{}]\n", yaml_scalar(limits.device));
  text += fmt::format(
      "source: {}\ndate: {}\nkind: measured population\nmethod: {}\nlimits:\n",
      yaml_scalar(fmt::format("assay health limits --rate {:g}%{}", 100 * limits.rule.rate,
                              limits.rule.per_run ? " --per-run" : "")),
      date, yaml_scalar(method_text(limits)));
  for (const DerivedLine& line : limits.lines) {
    text += fmt::format("  - cell: {}\n    metric: {}\n    {}: {}\n    unit: {}\n    n: {}\n",
                        yaml_scalar(line.key.cell), line.key.metric, bound_word(line),
                        number_text(line.value), yaml_scalar(line.unit),
                        yaml_scalar(method_text(line)));
    if (line.outliers.empty()) continue;
    text += fmt::format("    doubts: {}\n",
                        yaml_scalar(fmt::format("outliers among them, which loosen the limit: {}",
                                                fmt::join(line.outliers, ", "))));
  }
  return text;
}

std::string limits_cvs(const DerivedLimits& limits, std::string_view date) {
  Json json = {{"_comment", fmt::format("{}, {}", method_text(limits), date)}};
  for (const DerivedLine& line : limits.lines) {
    json[line.key.cell][line.key.metric] = {{"kind", line.better == Better::higher ? "min" : "max"},
                                            {"value", line.value},
                                            {"_unit", line.unit},
                                            {"_method", method_text(line)}};
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string limits_plain(const DerivedLimits& limits, std::string_view date) {
  std::string text = fmt::format("# {}, {}\n", method_text(limits), date);
  for (const DerivedLine& line : limits.lines) {
    text +=
        fmt::format("{}: {{metric: {}, {}: {}, unit: {}, nodes: {}}}\n", yaml_scalar(line.key.cell),
                    line.key.metric, line.better == Better::higher ? "min" : "max",
                    number_text(line.value), yaml_scalar(line.unit), line.nodes);
  }
  return text;
}

}  // namespace assay::health
