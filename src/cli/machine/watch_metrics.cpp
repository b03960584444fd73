#include "cli/machine/watch_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "core/shown_text.h"

namespace assay::cli {
namespace {

/// A unit as the conventions of Prometheus and OpenMetrics spell it, and the factor to its base.
struct MetricUnit {
  std::string_view unit, word;
  double factor = 1;
};
constexpr std::array<MetricUnit, 12> units = {{{"W", "watts", 1},
                                               {"Hz", "hertz", 1},
                                               {"J", "joules", 1},
                                               {"degC", "celsius", 1},
                                               {"bytes", "bytes", 1},
                                               {"s", "seconds", 1},
                                               {"GT/s", "transfers_per_second", 1e9},
                                               {"bytes/s", "bytes_per_second", 1},
                                               {"FLOP/s", "flops", 1},
                                               {"tokens/s", "tokens_per_second", 1},
                                               {"1/s", "per_second", 1},
                                               {"1", "", 1}}};

/// Returns a name that the formats allow: [a-z0-9_], no two underscores together.
std::string plain_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool allowed = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (allowed) {
      name += lower;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name;
}

MetricUnit unit_of_metric(std::string_view unit) {
  const auto* const known = std::ranges::find(units, unit, &MetricUnit::unit);
  return known == units.end() ? MetricUnit{unit, unit, 1} : *known;
}

std::string label(std::string_view name, std::string_view value) {
  std::string escaped;
  for (const char c : shown_line(value, 500)) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return fmt::format("{}=\"{}\"", name, escaped);
}

struct MetricFamily {
  std::string unit, help;
  ChannelKind kind = ChannelKind::gauge;
  std::vector<std::pair<std::string, double>> samples;  ///< by their labels
};

/// Families by name. A format that puts all samples of one together needs them all first.
class MetricFamilies {
 public:
  /// Returns a family for values in `unit`, named assay_ + `quantity` + the unit.
  MetricFamily& of(std::string_view quantity, std::string_view unit, std::string_view help) {
    const std::string word = plain_name(unit_of_metric(unit).word);
    std::string name = "assay_" + plain_name(quantity);
    if (!word.empty() && !name.ends_with("_" + word)) name += "_" + word;
    MetricFamily& family = all_[name];
    if (family.help.empty()) {
      family.unit = word;
      family.help = help;
    }
    return family;
  }

  std::string text(MetricsFormat format) const {
    const bool open = format == MetricsFormat::open_metrics;
    std::string text;
    for (const auto& [name, family] : all_) {
      const bool counts = family.kind == ChannelKind::counter;
      const std::string total = counts ? "_total" : "";
      const std::string declared = name + (open ? "" : total);
      text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", declared, family.help,
                          counts ? "counter" : "gauge");
      if (open && !family.unit.empty()) {
        text += fmt::format("# UNIT {} {}\n", declared, family.unit);
      }
      for (const auto& [labels, value] : family.samples) {
        text += fmt::format("{}{}{{{}}} {}\n", name, total, labels, value);
      }
    }
    return open ? text + "# EOF\n" : text;
  }

 private:
  std::map<std::string, MetricFamily> all_;
};

void add_channels(const std::vector<Channel>& channels, const Snapshot& now,
                  MetricFamilies& families) {
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const Channel& channel = channels[i];
    if (!std::isfinite(now.values[i])) continue;
    // "clock.xcd3" is part xcd3 of the clock.
    const std::size_t dot = channel.quantity.find('.');
    const std::string quantity = channel.quantity.substr(0, dot);
    const bool is_share = channel.unit == "1" && quantity.ends_with("utilisation");
    MetricFamily& family =
        families.of(is_share ? quantity + "_ratio" : quantity, channel.unit,
                    fmt::format("{} of a device, as assay watch shows it.", quantity));
    family.kind = channel.kind;
    std::string labels = label("device", channel.device);
    if (dot != std::string::npos) labels += "," + label("part", channel.quantity.substr(dot + 1));
    if (!channel.hardware.empty()) labels += "," + label("pci", channel.hardware);
    family.samples.emplace_back(labels, now.values[i] * unit_of_metric(channel.unit).factor);
  }
}

void add_value(MetricFamilies& families, const std::string& labels, std::string_view quantity,
               std::string_view unit, double value, const std::optional<Interval>& interval) {
  MetricFamily& family =
      families.of(fmt::format("result_{}", quantity), unit,
                  "Newest verified result of a cell: its median and 95% interval.");
  const double factor = unit_of_metric(unit).factor;
  const auto add = [&](std::string_view statistic, double of) {
    family.samples.emplace_back(labels + "," + label("statistic", statistic), of * factor);
  };
  add("median", value);
  if (!interval) return;
  add("low95", interval->low);
  add("high95", interval->high);
}

void add_results(std::span<const Record> results, MetricFamilies& families) {
  std::map<std::string, const Record*> newest;  // by labels
  for (const Record& record : results) {
    if (record.status != RecordStatus::passed || is_trial(record)) continue;
    const std::string labels =
        label("cell", record.cell.id()) + "," +
        label("device", fmt::format("{}:{}", record.device.backend, record.device.ordinal));
    const Record*& last = newest[labels];
    if (last == nullptr || last->time <= record.time) last = &record;
  }
  for (const auto& [labels, record] : newest) {
    const std::string all =
        labels + "," + label("emulated", record->device.emulated ? "true" : "false");
    if (record->value) {
      const Value& value = *record->value;
      add_value(families, all, name_of(value.quantity),
                value.unit.empty() ? unit_of(value.quantity) : std::string_view(value.unit),
                value.median, value.interval95);
    }
    for (const Metric& metric : record->metrics) {
      if (metric.is_void || !std::isfinite(metric.value)) continue;
      add_value(families, all, metric.name, metric.unit, metric.value, metric.interval95);
    }
  }
}

}  // namespace

std::string watch_metrics(const std::vector<Channel>& channels, const Snapshot& now,
                          std::span<const Record> results, MetricsFormat format) {
  MetricFamilies families;
  add_channels(channels, now, families);
  add_results(results, families);
  return families.text(format);
}

}  // namespace assay::cli
