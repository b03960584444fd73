#include "cli/results_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <type_traits>

#include "cli/cell_names.h"
#include "cli/metrics_view.h"
#include "cli/table.h"
#include "core/units.h"
#include "judge/compare/disturbance.h"
#include "results/record/cell_order.h"

namespace assay::cli {
namespace {

using Pointers = std::vector<const Record*>;

struct Shown {
  double factor;
  std::string unit;
};

Shown unit_for(const Value& value) {
  switch (value.quantity) {
    case Quantity::bandwidth:
      return {1e9, "GB/s"};
    case Quantity::flop_rate: {
      const Scale scale = scale_for(value.median);
      return {scale.factor, fmt::format("{}FLOP/s", scale.prefix)};
    }
    case Quantity::token_rate:
      return {1, "tokens/s"};
    case Quantity::sample_rate:
      return {1, "samples/s"};
    case Quantity::latency:
      break;
  }
  const Scale scale = value.median >= 1 ? Scale{} : scale_for(value.median);
  return {scale.factor, fmt::format("{}s", scale.prefix)};
}

/// What a column of such values is called.
std::string_view quantity_title(Quantity quantity) {
  switch (quantity) {
    case Quantity::bandwidth:
      return "bandwidth";
    case Quantity::latency:
      return "latency";
    case Quantity::flop_rate:
    case Quantity::token_rate:
    case Quantity::sample_rate:
      break;
  }
  return "throughput";
}

std::string styled_status(RecordStatus status, const Style& style) {
  const std::string_view name = name_of(status);
  switch (status) {
    case RecordStatus::passed:
      return style.green(name);
    case RecordStatus::failed:
    case RecordStatus::error:
      return style.red(name);
    default:
      return style.yellow(name);
  }
}

/// Records with the same key together, in the order in which the keys appear first.
template <typename KeyOf>
std::vector<Pointers> in_groups(std::span<const Record> records, const KeyOf& key_of) {
  std::vector<Pointers> groups;
  std::map<std::invoke_result_t<KeyOf, const Record&>, std::size_t> places;
  for (const Record& record : records) {
    const auto [place, fresh] = places.emplace(key_of(record), groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back(&record);
  }
  return groups;
}

/// Records of each benchmark in the order of their first appearance.
std::vector<Pointers> by_benchmark(std::span<const Record> records) {
  return in_groups(
      records, [](const Record& record) -> std::string_view { return record.cell.benchmark(); });
}

bool varies(const Pointers& group, std::string_view axis) {
  return std::any_of(group.begin(), group.end(), [&](const Record* record) {
    return record->cell.text(axis) != group.front()->cell.text(axis);
  });
}

/// The rows axis by axis: numbers by value, words in the order of their first appearance.
void put_in_order(Pointers& group, const std::vector<std::string>& axes) {
  using Place = std::pair<bool, double>;  // words after numbers
  std::map<const Record*, std::vector<Place>> places;
  for (const std::string& axis : axes) {
    std::map<std::string_view, std::size_t> words;  // and their places
    for (const Record* record : group) {
      const std::string_view value = record->cell.text(axis);
      if (const auto number = place_on_axis(axis, value)) {
        places[record].emplace_back(false, *number);
        continue;
      }
      const std::size_t place = words.emplace(value, words.size()).first->second;
      places[record].emplace_back(true, static_cast<double>(place));
    }
  }
  std::stable_sort(group.begin(), group.end(),
                   [&](const Record* a, const Record* b) { return places[a] < places[b]; });
}

/// The title of a column of values: what they are. Cells of one benchmark may differ in it.
std::string title_of(const Pointers& group) {
  std::string title;
  for (const Record* record : group) {
    if (!record->value) continue;
    const std::string name(quantity_title(record->value->quantity));
    if (title.find(name) == std::string::npos) title += (title.empty() ? "" : " or ") + name;
  }
  return title.empty() ? "value" : title;
}

/// Whether the records' data went through a network, whose rates are given in Gb/s.
bool uses_network(const Pointers& group) {
  return std::ranges::any_of(group, [](const Record* record) {
    return record->cell.benchmark() == "rdma" ||
           std::ranges::any_of(record->ranks, [&](const RankResult& rank) {
             return rank.member.host != record->ranks.front().member.host;
           });
  });
}

/// The record's rate in Gb/s: its value, or the first bandwidth that another program reported;
/// empty if it has neither.
std::string bits_text(const Record& record) {
  if (record.value) {
    const bool is_rate = record.value->quantity == Quantity::bandwidth;
    return is_rate ? format_significant(record.value->median * 8 / 1e9) : "";
  }
  for (const Metric& metric : record.metrics) {
    if (metric.unit == "bytes/s" && !metric.is_void) {
      return format_significant(metric.value * 8 / 1e9);
    }
  }
  return {};
}

/// Whether the rows are operations of several ranks, whose numbers nccl-tests named: time, algbw
/// (a rank's bytes over time) and busbw (what the links carried).
bool is_collective(const Pointers& group) {
  return group.front()->cell.benchmark() == "collective";
}

/// The clock that assay itself measured on a CPU, before and after the samples; empty: neither.
std::optional<double> measured_clock(const Record& record) {
  if (!record.device.is_host_cpu() || !record.samples) return std::nullopt;
  const auto &before = record.samples->before.clock_hz, &after = record.samples->after.clock_hz;
  if (!before || !after) return before ? before : after;
  return (*before + *after) / 2;
}

/// Telemetry of the measured device: mean clock, mean power, share of time in which its driver or
/// firmware capped the clock. Empty where unknown.
std::vector<std::string> telemetry_cells(const Record& record, const Style& style) {
  std::vector<std::string> cells(3);
  if (!record.telemetry || record.device.emulated) return cells;
  const TelemetrySummary& summary = record.telemetry->summary;
  const GpuTelemetry gpu = summary.gpus.empty() ? GpuTelemetry() : summary.gpus.front().second;
  auto clock = summary.gpus.empty() ? summary.host.clock_mean_hz : gpu.clock_mean_hz;
  if (!clock) clock = measured_clock(record);
  if (clock) cells[0] = format_frequency(*clock);
  if (gpu.power_mean_watts) cells[1] = fmt::format("{:.0f} W", *gpu.power_mean_watts);
  if (gpu.throttled_share.value_or(0) > 0) {
    cells[2] = style.yellow(format_share(*gpu.throttled_share));
  }
  return cells;
}

/// Axes of all cells of the group, in the order of their first appearance: records of other
/// programs need not all have the same axes.
std::vector<std::string> axes_of(const Pointers& group) {
  std::vector<std::string> axes;
  for (const Record* record : group) {
    for (const auto& [axis, value] : record->cell.values()) {
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
    }
  }
  return axes;
}

/// The texts of time and algbw for a collective that assay measured; empty ones without a value.
std::vector<std::string> time_and_algbw(const Record& record) {
  std::vector<std::string> cells(2);
  const auto bytes = std::find_if(record.notes.begin(), record.notes.end(),
                                  [](const auto& note) { return note.first == "bytes"; });
  if (!record.value || !record.seconds || bytes == record.notes.end()) return cells;
  const double seconds = record.seconds->median;
  const double rate = std::strtod(bytes->second.c_str(), nullptr) / seconds;
  const std::string_view mark = model_mark(record.device.emulated);
  cells[0] = fmt::format("{}{}", mark, format_seconds(seconds));
  cells[1] = fmt::format("{}{}", mark, format_value({Quantity::bandwidth, rate, {}, {}, {}}));
  return cells;
}

/// Column texts about the samples that assay measured, in the order of add_value_columns().
std::vector<std::string> value_cells(const Record& record, bool collective, bool network,
                                     const Style& style) {
  const auto& value = record.value;
  const std::size_t n = record.seconds ? record.seconds->n : 0;
  std::vector<std::string> cells;
  if (collective) cells = time_and_algbw(record);
  cells.push_back(
      value ? style.bold(std::string(model_mark(record.device.emulated)) + format_value(*value))
            : style.dim("-"));
  cells.push_back(network ? bits_text(record) : "");
  cells.push_back(value && !record.device.emulated ? format_interval(*value, n) : "");
  cells.push_back(value && value->share && !record.device.emulated
                      ? fmt::format("{:.1f}%", *value->share * 100)
                      : "");
  for (std::string& cell : telemetry_cells(record, style)) cells.push_back(std::move(cell));
  cells.push_back(n > 0 ? fmt::format("{}", n) : "");
  std::size_t throttled = 0;
  if (record.samples) {
    for (const Sample& sample : record.samples->samples) throttled += sample.throttled ? 1 : 0;
  }
  cells.push_back(throttled > 0 ? style.yellow(fmt::format("{}", throttled)) : "");
  return cells;
}

void add_value_columns(std::vector<Column>& columns, bool collective, const Pointers& group) {
  if (collective) {
    columns.push_back({"time", Column::Align::right, 0});
    columns.push_back({"algbw", Column::Align::right, 0});
  }
  columns.push_back({collective ? "busbw" : title_of(group), Column::Align::right, 0});
  columns.push_back({"Gb/s", Column::Align::right, 4});
  columns.push_back({"95% interval", Column::Align::left, 3});
  columns.push_back({"of roofline", Column::Align::right, 4});
  columns.push_back({"clock", Column::Align::right, 1});
  columns.push_back({"power", Column::Align::right, 1});
  columns.push_back({"capped", Column::Align::right, 2});
  columns.push_back({"n", Column::Align::right, 1});
  columns.push_back({"throttled", Column::Align::right, 2});
}

/// Moves the metrics that are named in `first` to the front, in that order.
void put_first(std::vector<std::string>& metrics, std::initializer_list<std::string_view> first) {
  auto at = metrics.begin();
  for (const std::string_view name : first) {
    const auto found = std::find(at, metrics.end(), name);
    if (found == metrics.end()) continue;
    std::rotate(at, found, found + 1);
    ++at;
  }
}

std::string group_text(Pointers group, std::size_t width, const Style& style) {
  constexpr std::size_t most_metrics = 6;
  std::vector<std::string> constants;
  std::vector<Column> columns;
  std::vector<std::string> axes;
  for (const std::string& axis : axes_of(group)) {
    const std::string_view value = group.front()->cell.text(axis);
    if (varies(group, axis)) {
      const bool size = !value.empty() && value.front() >= '0' && value.front() <= '9';
      columns.push_back({axis, size ? Column::Align::right : Column::Align::left, 0});
      axes.push_back(axis);
    } else {
      constants.push_back(fmt::format("{}={}", axis, value));
    }
  }
  put_in_order(group, axes);
  const bool collective = is_collective(group), network = uses_network(group);
  std::vector<std::string> metrics = shown_metrics(group, most_metrics);
  if (collective) put_first(metrics, {"time", "algbw", "busbw"});
  // Imported results have metrics instead of a value.
  const bool values = metrics.empty() || std::any_of(group.begin(), group.end(), [](auto* record) {
                        return record->value.has_value();
                      });
  if (values) add_value_columns(columns, collective, group);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    columns.push_back({metrics[i], Column::Align::right, i == 0 ? 0 : static_cast<int>(10 - i)});
  }
  if (!values) columns.push_back({"Gb/s", Column::Align::right, 4});
  columns.push_back({"status", Column::Align::left, 5});
  Table table(std::move(columns));
  for (const Record* record : group) {
    std::vector<std::string> row;
    for (const std::string& axis : axes) row.emplace_back(record->cell.text(axis));
    if (values) {
      for (std::string& cell : value_cells(*record, collective, network, style))
        row.push_back(std::move(cell));
    }
    for (const std::string& metric : metrics) row.push_back(metric_text(*record, metric));
    if (!values) row.push_back(network ? bits_text(*record) : "");
    row.push_back(styled_status(record->status, style));
    table.add(std::move(row));
  }
  const std::string& name = group.front()->cell.benchmark();
  constants.insert(constants.begin(), style.bold(name));
  std::string text = wrapped(fmt::format("{}", fmt::join(constants, " ")), 2, width) + "\n" +
                     table.render(width, style);
  const std::size_t all = count_metrics(group);
  if (all > metrics.size()) {
    const std::size_t more = all - metrics.size();
    text +=
        style.dim(fmt::format("  and {} more metric{}, see --json", more, more == 1 ? "" : "s"));
    text += '\n';
  }
  return text;
}

/// Flags in results of other programs that would otherwise look like successes, and why metrics are
/// void.
std::string flags_text(std::span<const Record> records, const std::vector<std::string>& names,
                       std::size_t width, const Style& style) {
  std::string text;
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (const auto& [key, word] :
         {std::pair{std::string_view("flag"), "flagged"}, {void_note, "void in part"}}) {
      const std::string* const why = find_note(records[i], key);
      if (why == nullptr) continue;
      text += fmt::format("{}: {}\n  {}\n", style.yellow(word), names[i], wrapped(*why, 2, width));
    }
  }
  return text;
}

/// For values with a wide interval: how much CPU time other programs used meanwhile.
std::string noise_text(std::span<const Record> records, const std::vector<std::string>& names,
                       std::size_t width, const Style& style) {
  constexpr double wide = 0.1;  // half the interval over the value
  std::string text;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Record& record = records[i];
    if (!record.value || record.device.emulated) continue;
    const double half = (record.value->interval95.high - record.value->interval95.low) / 2;
    if (!(half > wide * std::abs(record.value->median))) continue;
    std::string cause = "what disturbed it is not known; --json has its telemetry";
    if (record.telemetry) {
      const HostTelemetry& host = record.telemetry->summary.host;
      const double others = host.others_share.value_or(0), stolen = host.steal_share.value_or(0);
      // A rank's telemetry counts the other ranks of its host as other programs.
      cause = record.ranks.empty()
                  ? fmt::format("other programs used {} of the CPUs' time, the hypervisor took {}",
                                format_share(others), format_share(stolen))
                  : fmt::format(
                        "the hypervisor took {} of the CPUs' time on rank 0's host; what other "
                        "programs than the ranks used is not known",
                        format_share(stolen));
    }
    const std::string wide_by = fmt::format("the interval is {:.0f}% wide: {}",
                                            100 * 2 * half / std::abs(record.value->median), cause);
    text += fmt::format("{}: {}\n  {}\n", style.yellow("noisy"), wrapped(names[i], 7, width),
                        wrapped(wide_by, 2, width));
  }
  return text;
}

/// Warns of other programs that used a measured CPU: a constant load makes values worse without
/// making their intervals wide.
std::string shared_text(std::span<const Record> records, std::size_t width, const Style& style) {
  Disturbance disturbance;
  for (const Record& record : records) {
    if (const auto taken = taken_from_cpus(record)) disturbance.add(*taken);
  }
  const std::string text = used_by_others(disturbance, "cells");
  if (text.empty()) return {};
  return fmt::format("{}: {}\n", style.yellow("shared"),
                     wrapped(text + "; alone this machine is faster", 2, width));
}

/// "unsupported: 3 cells, e.g. memory op=copy size=1TiB: the device has 24.0 GiB"
std::string reasons_text(std::span<const Record> records, const std::vector<std::string>& names,
                         std::size_t width, const Style& style) {
  const auto groups = in_groups(records, [](const Record& record) {
    return std::pair<RecordStatus, std::string_view>(record.status, record.reason);
  });
  std::string text;
  for (const Pointers& group : groups) {
    const Record& first = *group.front();
    if (first.reason.empty()) continue;
    const std::string& name = names[static_cast<std::size_t>(&first - records.data())];
    const std::string cells =
        group.size() == 1 ? name : fmt::format("{} cells, e.g. {}", group.size(), name);
    text += fmt::format("{}: {}\n  {}\n", styled_status(first.status, style),
                        wrapped(cells, name_of(first.status).size() + 2, width),
                        wrapped(first.reason, 2, width));
  }
  return text;
}

}  // namespace

std::string_view model_mark(bool emulated) {
  return emulated ? "model " : "";
}

std::string format_value(const Value& value) {
  const Shown shown = unit_for(value);
  return fmt::format("{} {}", format_significant(value.median / shown.factor), shown.unit);
}

std::string format_interval(const Value& value, std::size_t n) {
  constexpr std::size_t least = 6;  // 1 - 2 / 2^6 = 0.969 is the first coverage above 0.95
  if (n < least) return "too few samples";
  const Shown shown = unit_for(value);
  return fmt::format("[{}, {}]", format_significant(value.interval95.low / shown.factor),
                     format_significant(value.interval95.high / shown.factor));
}

std::string outcome_text(const Record& record, const Style& style) {
  if (!record.value) {
    std::string text = record.reason;
    // What another program reports are metrics.
    constexpr std::size_t most = 3;
    for (std::size_t i = 0; i < std::min(record.metrics.size(), most) && record.reason.empty();
         ++i) {
      text += fmt::format("{}{} {}", i == 0 ? "" : ", ", record.metrics[i].name,
                          metric_text(record, record.metrics[i].name));
    }
    return fmt::format("{}{}{}", styled_status(record.status, style), text.empty() ? "" : ": ",
                       text);
  }
  if (record.device.emulated)
    return std::string(model_mark(record.device.emulated)) + format_value(*record.value);
  const std::size_t n = record.seconds ? record.seconds->n : 0;
  std::string text = fmt::format("{} {}", style.bold(format_value(*record.value)),
                                 format_interval(*record.value, n));
  if (record.value->share) text += fmt::format(" {:.1f}% of roofline", *record.value->share * 100);
  return text;
}

std::string results_text(std::span<const Record> records, std::size_t width, const Style& style) {
  std::string text;
  for (const Pointers& group : by_benchmark(records)) {
    text += group_text(group, width, style) + "\n";
  }
  if (std::any_of(records.begin(), records.end(),
                  [](const Record& record) { return record.device.emulated; })) {
    text += std::string(model_footnote) + "\n";
  }
  std::vector<const Cell*> cells;
  for (const Record& record : records) cells.push_back(&record.cell);
  const std::vector<std::string> names = varying_names(cells);
  const std::string reasons =
      reasons_text(records, names, width, style) + noise_text(records, names, width, style) +
      shared_text(records, width, style) + flags_text(records, names, width, style);
  return reasons.empty() ? text : text + reasons + "\n";
}

std::string counts_text(std::span<const Record> records) {
  std::string text = fmt::format("{} cell{}", records.size(), records.size() == 1 ? "" : "s");
  const char* separator = ": ";
  for (const RecordStatus status : {RecordStatus::passed, RecordStatus::failed, RecordStatus::error,
                                    RecordStatus::unsupported, RecordStatus::interrupted}) {
    const auto count = std::count_if(records.begin(), records.end(),
                                     [&](const Record& record) { return record.status == status; });
    if (count == 0) continue;
    text += fmt::format("{}{} {}", separator, count, name_of(status));
    separator = ", ";
  }
  return text;
}

std::string device_text(const DeviceFacts& facts) {
  // For another program's machine, at most the device's name is known.
  if (facts.is_foreign()) {
    return (facts.name.empty() ? "an unknown device" : facts.name) +
           (facts.emulated ? ", simulated" : "");
  }
  std::string text = fmt::format("{}:{} {}", facts.backend, facts.ordinal, facts.name);
  if (!facts.arch.empty()) text += ", " + facts.arch;
  if (!facts.partition.empty()) text += ", " + facts.partition;
  if (facts.emulated) text += ", emulated";
  return text;
}

}  // namespace assay::cli
