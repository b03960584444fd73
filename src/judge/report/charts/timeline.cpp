#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>

#include "judge/report/charts/charts.h"
#include "judge/report/number_text.h"

namespace assay::report {
namespace {

constexpr std::size_t most_points = 600;  // per line: a chart has no pixels for more

/// The recorded quantities that are drawn, the most important first.
struct Subject {
  std::string_view quantity;  ///< of channels: this name, alone or followed by a part of the chip
  std::string_view title;
};
constexpr std::array<Subject, 6> subjects = {{{"clock", "clock"},
                                              {"clock_mean", "mean clock of the CPUs"},
                                              {"power", "power"},
                                              {"temperature", "temperature"},
                                              {"throttled", "share of time throttled"},
                                              {"utilisation", "utilisation"}}};

/// Seconds since 1970 of "2026-01-31T12:00:01.500Z"; empty for any other text.
std::optional<double> seconds_of(const std::string& time) {
  std::tm parts = {};
  const char* unread = ::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (unread == nullptr) return std::nullopt;
  double fraction = 0;
  if (*unread == '.') {
    double unit = 0.1;
    for (++unread; *unread >= '0' && *unread <= '9'; ++unread, unit /= 10)
      fraction += (*unread - '0') * unit;
  }
  if (*unread != 'Z') return std::nullopt;
  return static_cast<double>(::timegm(&parts)) + fraction;
}

struct Reading {
  double second = 0, value = 0;
};
using Lines = std::map<std::string, std::vector<Reading>>;  // by device, or part of one

bool shows(const Subject& subject, const Channel& channel) {
  if (channel.kind != ChannelKind::gauge) return false;
  return channel.quantity == subject.quantity ||
         channel.quantity.rfind(fmt::format("{}.", subject.quantity), 0) == 0;
}

/// All cells of a run in sequence, with a gap (NaN) between the traces of two cells.
Lines lines_of(const std::vector<const Record*>& records, const Subject& subject, double begin) {
  Lines lines;
  for (const Record* record : records) {
    const TelemetryTrace& trace = record->telemetry->trace;
    // A record's time is the end of its sampling, which is also the end of the window.
    const double start = *seconds_of(record->time) - trace.window - begin;
    for (std::size_t i = 0; i < trace.channels.size() && i < trace.values.size(); ++i) {
      const Channel& channel = trace.channels[i];
      if (!shows(subject, channel)) continue;
      std::string name = channel.device;
      if (channel.quantity.size() > subject.quantity.size()) {
        name += " " + channel.quantity.substr(subject.quantity.size() + 1);
      }
      std::vector<Reading>& line = lines[name];
      const std::size_t before = line.size();
      for (std::size_t t = 0; t < trace.seconds.size() && t < trace.values[i].size(); ++t) {
        const double second = trace.seconds[t];
        if (!std::isfinite(second) || !std::isfinite(trace.values[i][t])) continue;
        line.push_back({start + second, trace.values[i][t]});
      }
      if (line.size() > before) {
        line.push_back({line.back().second, std::numeric_limits<double>::quiet_NaN()});
      }
    }
  }
  return lines;
}

/// Averages neighbouring readings so that at most `most_points` and the gaps between them remain. A
/// gap stays if it lasts longer than what one point stands for; shorter ones, between many short
/// cells, would not be seen.
std::vector<Reading> thinned(const std::vector<Reading>& line) {
  const std::size_t every = (line.size() + most_points - 1) / most_points;
  if (every <= 1) return line;
  const double point_seconds =
      (line.back().second - line.front().second) / static_cast<double>(most_points);
  std::vector<Reading> result;
  Reading sum;
  std::size_t count = 0;
  const Reading* gap = nullptr;
  const auto flush = [&] {
    if (count == 0) return;
    const auto n = static_cast<double>(count);
    result.push_back({sum.second / n, sum.value / n});
    sum = {};
    count = 0;
  };
  for (const Reading& reading : line) {
    if (std::isnan(reading.value)) {
      gap = &reading;
      continue;
    }
    if (gap != nullptr && reading.second - gap->second > point_seconds) {
      flush();
      result.push_back(*gap);
    }
    gap = nullptr;
    sum.second += reading.second;
    sum.value += reading.value;
    if (++count == every) flush();
  }
  flush();
  return result;
}

/// The least and the largest reading of a line.
std::pair<double, double> extent_of(const std::vector<Reading>& line) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const Reading& reading : line) {
    if (std::isnan(reading.value)) continue;
    least = std::min(least, reading.value);
    most = std::max(most, reading.value);
  }
  return {least, most};
}

std::string summary_of(const Lines& lines, const std::string& unit) {
  std::string text;
  std::size_t described = 0;
  for (const auto& [name, line] : lines) {
    if (++described > 4) break;
    const auto [least, most] = extent_of(line);
    text += fmt::format("{}{}: {} to {}.", text.empty() ? "" : " ", name,
                        quantity_text(least, unit), quantity_text(most, unit));
  }
  return text;
}

std::vector<const Record*> last_run_with_telemetry(const Environment& environment) {
  std::vector<const Record*> records;
  for (auto at = environment.records.rbegin(); at != environment.records.rend(); ++at) {
    if (!at->telemetry || !seconds_of(at->time)) continue;
    if (records.empty() || records.back()->run == at->run) records.push_back(&*at);
  }
  std::reverse(records.begin(), records.end());
  return records;
}

}  // namespace

TelemetryCharts telemetry_charts(const Environment& environment) {
  const std::vector<const Record*> records = last_run_with_telemetry(environment);
  TelemetryCharts made;
  if (records.empty()) return made;
  double begin = std::numeric_limits<double>::infinity();
  for (const Record* record : records) {
    begin = std::min(begin, *seconds_of(record->time) - record->telemetry->trace.window);
  }
  for (const Subject& subject : subjects) {
    Lines lines = lines_of(records, subject, begin);
    std::string unit;
    for (const Record* record : records) {
      for (const Channel& channel : record->telemetry->trace.channels) {
        if (unit.empty() && shows(subject, channel)) unit = channel.unit;
      }
    }
    std::erase_if(lines, [&](const auto& line) {
      const auto [least, most] = extent_of(line.second);
      if (least != most) return false;
      made.constants.push_back(
          fmt::format("{} {} {}", line.first, subject.title, quantity_text(least, unit)));
      return true;
    });
    Chart chart;
    chart.kind = ChartKind::timeline;
    chart.title = fmt::format("{} of {}, run {}", subject.title, environment.results.name,
                              records.front()->run);
    chart.settings = {{"metric", subject.title}};
    chart.table.caption = chart.title;
    chart.table.raw = true;
    chart.table.columns = {{"line", "device"},
                           {"seconds", "time", ColumnKind::number, "s"},
                           {"value", std::string(subject.title), ColumnKind::number, unit}};
    for (const auto& [name, line] : lines) {
      for (const Reading& reading : thinned(line)) {
        chart.table.rows.push_back(
            {name, reading.second, std::isnan(reading.value) ? Field() : Field(reading.value)});
      }
    }
    if (chart.table.rows.empty()) continue;
    scale_columns(chart.table);
    chart.summary = summary_of(lines, unit);
    made.charts.push_back(std::move(chart));
  }
  return made;
}

}  // namespace assay::report
