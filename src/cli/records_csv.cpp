#include "cli/records_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/units.h"
#include "judge/report/escape.h"

namespace assay::cli {
namespace {

using report::escape_csv;

std::string number(double value) {
  return fmt::format("{}", value);
}

/// Names in the order of their first appearance.
class Names {
 public:
  void add(std::string_view name) {
    if (places_.try_emplace(std::string(name), all_.size()).second) all_.emplace_back(name);
  }
  std::size_t place(std::string_view name) const { return places_.at(std::string(name)); }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::string> all_;
};

struct Figure {
  std::string column;  ///< "bandwidth [bytes/s]"
  double value = 0;
  std::optional<Interval> interval95;
};

std::vector<Figure> figures_of(const Record& record) {
  std::vector<Figure> figures;
  const auto add = [&](std::string_view name, std::string_view unit, double value,
                       const std::optional<Interval>& interval) {
    figures.push_back({fmt::format("{} [{}]", name, unit), value, interval});
  };
  if (record.value) {
    const Value& value = *record.value;
    add(name_of(value.quantity), value.unit.empty() ? unit_of(value.quantity) : value.unit,
        value.median, value.interval95);
  }
  for (const Metric& metric : record.metrics) {
    if (!metric.is_void) add(metric.name, metric.unit, metric.value, metric.interval95);
  }
  return figures;
}

/// The columns that both tables begin with.
class CommonColumns {
 public:
  explicit CommonColumns(std::span<const Record> records) {
    for (const Record& record : records) {
      for (const auto& [axis, value] : record.cell.values()) axes_.add(axis);
    }
    sizes_.assign(axes_.all().size(), false);
    std::vector<bool> numbers(sizes_.size(), true);
    for (const Record& record : records) {
      for (const auto& [axis, value] : record.cell.values()) {
        const std::size_t place = axes_.place(axis);
        numbers[place] = numbers[place] && parse_size(value).ok();
        if (value.ends_with("iB")) sizes_[place] = true;
      }
    }
    for (std::size_t i = 0; i < sizes_.size(); ++i) sizes_[i] = sizes_[i] && numbers[i];
  }

  std::string header() const {
    std::string text = "run,time,environment,benchmark,device,emulated,status";
    for (std::size_t i = 0; i < axes_.all().size(); ++i) {
      text += "," + escape_csv(axes_.all()[i] + (sizes_[i] ? " [bytes]" : ""));
    }
    return text;
  }

  std::string row(const Record& record) const {
    const DeviceFacts& device = record.device;
    std::string text = fmt::format(
        "{},{},{},{},{},{},{}", escape_csv(record.run), escape_csv(record.time),
        escape_csv(record.fingerprint), escape_csv(record.cell.benchmark()),
        escape_csv(device.backend.empty()
                       ? ""
                       : fmt::format("{}:{} {}", device.backend, device.ordinal, device.name)),
        device.emulated, name_of(record.status));
    std::vector<std::string> values(axes_.all().size());
    for (const auto& [axis, value] : record.cell.values()) {
      const std::size_t place = axes_.place(axis);
      values[place] = sizes_[place] ? fmt::format("{}", *parse_size(value)) : escape_csv(value);
    }
    for (const std::string& value : values) text += "," + value;
    return text;
  }

 private:
  Names axes_;
  std::vector<bool> sizes_;  // by axis: all values are sizes, and some have a unit
};

}  // namespace

std::string records_csv(std::span<const Record> records) {
  const CommonColumns common(records);
  Names columns;
  for (const Record& record : records) {
    for (const Figure& figure : figures_of(record)) columns.add(figure.column);
  }
  std::string text = common.header() + ",samples";
  for (const std::string& column : columns.all()) {
    text += fmt::format(",{},{},{}", escape_csv(column), escape_csv("low95 " + column),
                        escape_csv("high95 " + column));
  }
  text += "\r\n";
  for (const Record& record : records) {
    std::vector<std::string> values(columns.all().size(), ",,");
    for (const Figure& figure : figures_of(record)) {
      std::string& value = values[columns.place(figure.column)];
      value = number(figure.value) + ",";
      if (figure.interval95) value += number(figure.interval95->low);
      value += ",";
      if (figure.interval95) value += number(figure.interval95->high);
    }
    text += common.row(record) + ",";
    if (record.seconds) text += fmt::format("{}", record.seconds->n);
    for (const std::string& value : values) text += "," + value;
    text += "\r\n";
  }
  return text;
}

std::string samples_csv(std::span<const Record> records) {
  const CommonColumns common(records);
  std::string text = common.header() + ",sample,seconds [s],throttled\r\n";
  for (const Record& record : records) {
    if (!record.samples) continue;
    const std::string row = common.row(record);
    std::size_t number_of_sample = 0;
    for (const Sample& sample : record.samples->samples) {
      text += fmt::format("{},{},{},{}\r\n", row, number_of_sample++, number(sample.seconds),
                          sample.throttled);
    }
  }
  return text;
}

}  // namespace assay::cli
