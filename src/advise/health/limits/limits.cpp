#include "advise/health/limits/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

#include "advise/doctor/doctor.h"
#include "core/embedded.h"
#include "core/read_file.h"
#include "core/suggest.h"
#include "core/text.h"
#include "core/units.h"
#include "core/yaml_text.h"
#include "measure/grid/benchmark.h"
#include "results/record/measured_unit.h"

namespace assay::health {
namespace {

constexpr double gibi = 1073741824.0;

constexpr std::array kinds = {LimitKind::specification, LimitKind::vendor_acceptance,
                              LimitKind::measured_population};

std::vector<std::string> benchmarks_known() {
  std::vector<std::string> names;
  for (const Benchmark* benchmark : benchmarks()) names.emplace_back(benchmark->name());
  return names;
}

/// Values that stand for several ones, of which the run chooses.
bool is_open(std::string_view value) {
  return value == "all" || value == "auto" || value == "any";
}

/// Returns whether `text` may say which machines a limit comes from: if it begins with a number,
/// that number is whole and at least 1.
bool is_sample(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 1;  // a text without a number keeps it
  std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_word = !std::isfinite(number);  // "nano" and "info" are read as NaN and infinity
  return is_word || (number >= 1 && number == std::floor(number));
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  Result<Limits> limits(const YamlValue& root) {
    const YamlReader map = TRY(YamlReader::of(
        root, file_, "limits are a map with name, description, source, date, kind, limits",
        {"name", "description", "devices", "source", "date", "kind", "doubts", "n", "method",
         "limits", "not_covered"}));
    Limits limits;
    limits.file = file_;
    limits.name = TRY(map.text("name"));
    limits.description = TRY(map.text("description"));
    TRY(map.optional("devices", limits.devices));
    TRY(map.optional("not_covered", limits.not_covered));
    TRY(provenance(map, common_));
    const YamlValue* lines = map.find("limits");
    if (lines == nullptr || lines->kind != YamlValue::Kind::list || lines->items.empty()) {
      return map.wrong("limits", "\"limits\" must be a list of {cell or machine or check, ...}");
    }
    for (const YamlValue& item : lines->items) limits.lines.push_back(TRY(line(item)));
    return limits;
  }

 private:
  Status provenance(const YamlReader& map, LimitLine& target) const {
    TRY(map.optional("source", target.source));
    TRY(map.optional("date", target.date));
    if (map.find("date") != nullptr && !is_date_of_source(target.date)) {
      return map.wrong("date", fmt::format("date \"{}\" is no day of the calendar; allowed: a day, "
                                           "2026-05-30, a month, 2026-05, or undated",
                                           target.date));
    }
    TRY(map.optional("doubts", target.doubts));
    if (target.doubts == "none") target.doubts.clear();  // of this line, though the file has some
    TRY(map.optional("n", target.sample));
    if (map.find("n") != nullptr && !is_sample(target.sample)) {
      return map.wrong("n", fmt::format("n \"{}\" begins with a number that counts nothing; "
                                        "allowed: a whole number from 1, e.g. 3 GPUs, or words",
                                        target.sample));
    }
    if (map.find("kind") == nullptr) return {};
    const std::string kind = TRY(map.text("kind"));
    for (const LimitKind known : kinds) {
      if (kind == name_of(known)) {
        target.kind = known;
        return {};
      }
    }
    return map.wrong("kind", fmt::format("kind \"{}\" is unknown; allowed: specification, vendor "
                                         "acceptance, measured population",
                                         kind));
  }

  Result<LimitLine> line(const YamlValue& item) const {
    const YamlReader map = TRY(
        YamlReader::of(item, file_, "a limit is a map with cell, machine or check",
                       {"cell", "metric", "machine", "check", "at_least", "at_most", "unit", "has",
                        "over", "quick", "full", "kind", "source", "date", "doubts", "n"}));
    LimitLine line = common_;
    line.line = item.line;
    TRY(provenance(map, line));
    if (line.source.empty() || line.date.empty()) {
      return map.wrong(item, "a limit needs \"source\" and \"date\", here or for the whole file");
    }
    TRY(map.optional("cell", line.cell));
    TRY(map.optional("machine", line.machine));
    TRY(map.optional("check", line.check));
    if (!line.cell.empty() + !line.machine.empty() + !line.check.empty() != 1) {
      return map.wrong(item, "a limit needs exactly one of \"cell\", \"machine\" and \"check\"");
    }
    bool quick = false, full = false;
    TRY(map.flag("quick", quick));
    TRY(map.flag("full", full));
    if (quick && full) return map.wrong("full", "a line is either \"quick\" or \"full\"");
    line.thoroughness = quick  ? Thoroughness::quick
                        : full ? Thoroughness::full
                               : Thoroughness::normal;
    if (!line.check.empty()) return check_line(map, std::move(line));
    if (!line.machine.empty()) return machine_line(map, std::move(line));
    return cell_line(map, std::move(line));
  }

  Result<LimitLine> check_line(const YamlReader& map, LimitLine line) const {
    const auto known = find_checks(std::vector<std::string>{line.check});
    if (!known.ok()) return map.wrong("check", known.error().message);
    return line;
  }

  Result<LimitLine> machine_line(const YamlReader& map, LimitLine line) const {
    std::vector<std::string> names;
    for (const MachineFact& fact : machine_facts()) names.emplace_back(fact.name);
    const auto fact =
        std::find_if(machine_facts().begin(), machine_facts().end(),
                     [&](const MachineFact& known) { return known.name == line.machine; });
    if (fact == machine_facts().end()) {
      return map.wrong("machine",
                       fmt::format("unknown fact \"{}\"{}; allowed: {}", line.machine,
                                   did_you_mean(line.machine, names), fmt::join(names, ", ")));
    }
    if (fact->unit.empty()) {
      line.has = TRY(map.texts("has"));
      if (line.has.empty()) return map.wrong("has", "\"has\" must name at least one argument");
      return line;
    }
    TRY(bound(map, line));
    if (line.unit != fact->unit) {
      return map.wrong("unit", fmt::format("{} is in {}; this unit is of {}", line.machine,
                                           fact->unit, line.unit));
    }
    return line;
  }

  Result<LimitLine> cell_line(const YamlReader& map, LimitLine line) const {
    line.metric = TRY(map.text("metric"));
    std::string over = "worst";
    TRY(map.optional("over", over));
    if (over != "worst" && over != "mean") {
      return map.wrong("over", fmt::format("over \"{}\" is unknown; allowed: worst, mean", over));
    }
    line.over_mean = over == "mean";
    TRY(bound(map, line));
    std::istringstream words(line.cell);
    words >> line.benchmark;
    const Benchmark* benchmark = find_benchmark(line.benchmark);
    if (benchmark == nullptr) {
      return map.wrong("cell", fmt::format("unknown benchmark \"{}\"{}", line.benchmark,
                                           did_you_mean(line.benchmark, benchmarks_known())));
    }
    std::vector<AxisSetting> settings;
    for (std::string word; words >> word;) {
      auto setting = parse_axis_setting(word);
      if (!setting.ok()) return map.wrong("cell", setting.error().message);
      settings.push_back(*std::move(setting));
    }
    const auto cells = expand_cells(benchmark->name(), benchmark->axes(), settings);
    if (!cells.ok()) return map.wrong("cell", cells.error().message);
    if (cells->size() != 1) {
      return map.wrong("cell", fmt::format("\"{}\" means {} cells; name the values of its axes "
                                           "until one is left",
                                           line.cell, cells->size()));
    }
    line.cell_to_run = cells->front();
    for (const AxisSetting& setting : settings) {
      const std::string value(line.cell_to_run.text(setting.axis));
      if (!is_open(value)) line.axes.push_back({setting.axis, value});
    }
    return line;
  }

  /// Reads the limit's number and unit.
  Status bound(const YamlReader& map, LimitLine& line) const {
    const bool least = map.find("at_least") != nullptr, most = map.find("at_most") != nullptr;
    if (least == most) {
      return map.wrong(map.value(), "a limit needs either \"at_least\" or \"at_most\"");
    }
    const char* key = least ? "at_least" : "at_most";
    const std::string text = TRY(map.text(key));
    const auto number = parse_number(text);
    if (!number) {
      return map.wrong(key, fmt::format("\"{}\" must be a number", text));
    }
    if (*number <= 0) {
      return map.wrong(key, fmt::format("{} {}: every machine would {}; the limit must be above 0",
                                        key, text, least ? "pass" : "fail"));
    }
    const std::string unit = TRY(map.text("unit"));
    const auto known = written_unit(unit);
    if (!known.ok()) return map.wrong("unit", known.error().message);
    line.at_most = most;
    line.value = to_si(*number, known->factor);
    line.unit = known->si;
    return {};
  }

  std::string file_;
  LimitLine common_;  ///< what the file says for all its lines
};

}  // namespace

std::string_view name_of(LimitKind kind) {
  switch (kind) {
    case LimitKind::specification:
      return "specification";
    case LimitKind::vendor_acceptance:
      return "vendor acceptance";
    case LimitKind::measured_population:
      break;
  }
  return "measured population";
}

const std::vector<MachineFact>& machine_facts() {
  static const std::vector<MachineFact> facts = {{"gpus", "GPUs"},        {"memory", "bytes"},
                                                 {"gpu-memory", "bytes"}, {"power-limit", "W"},
                                                 {"link-speed", "GT/s"},  {"link-width", "lanes"},
                                                 {"kernel-arguments", ""}};
  return facts;
}

std::string LimitLine::what() const {
  if (!cell.empty()) return cell + (over_mean ? ", mean" : "");
  return machine.empty() ? check : machine;
}

std::string LimitLine::limit_text() const {
  if (!check.empty()) return "PASS";
  if (!has.empty())
    return fmt::format("{}{}", has.size() > 1 ? "one of " : "", fmt::join(has, ", "));
  return fmt::format("{} {}", at_most ? "at most" : "at least", quantity_text(value, unit));
}

std::string quantity_text(double value, std::string_view unit) {
  const bool plain = unit == "GPUs" || unit == "lanes" || unit == "GT/s" || unit == "W";
  if (plain) return fmt::format("{:g} {}", value, unit);
  if (unit == "bytes") {
    const bool tib = value >= 1024 * gibi;
    return fmt::format("{:.2f} {}", value / (tib ? 1024 * gibi : gibi), tib ? "TiB" : "GiB");
  }
  return format_in(value, unit);
}

Result<Limits> parse_limits(std::string_view yaml, std::string_view file) {
  return Reader(file).limits(TRY(parse_yaml(yaml, file)));
}

Result<Limits> load_limits(const std::string& path) {
  constexpr std::size_t most_bytes = std::size_t{16} << 20;
  return parse_limits(TRY(read_operand(path, most_bytes)), path);
}

Result<std::vector<Limits>> built_in_limits() {
  std::vector<Limits> all;
  for (const EmbeddedFile& file : embedded_limits()) {
    all.push_back(TRY(parse_limits(file.text, file.name)));
  }
  std::sort(all.begin(), all.end(),
            [](const Limits& a, const Limits& b) { return a.name < b.name; });
  return all;
}

Result<Limits> limits_of_device(std::string_view device_name) {
  std::vector<std::string> known;
  for (Limits& limits : TRY(built_in_limits())) {
    if (limits.devices.empty()) continue;
    if (is_about(limits, device_name, "")) return std::move(limits);
    const std::string& first = limits.devices.front();
    known.push_back(first.starts_with('=') ? first.substr(1) : first);
  }
  return Error{ErrorKind::usage,
               fmt::format("no limits for \"{}\"; there are limits for {}; give others with "
                           "--limits FILE, or make them of healthy machines with `assay health "
                           "limits`",
                           device_name, fmt::join(known, ", "))};
}

bool is_about(const Limits& limits, std::string_view name, std::string_view device_id) {
  const auto is_meant = [&](const std::string& device) {
    if (device.starts_with('=')) return name == std::string_view(device).substr(1);
    return name.find(device) != std::string_view::npos || device_id == device;
  };
  return limits.devices.empty() ||
         std::any_of(limits.devices.begin(), limits.devices.end(), is_meant);
}

bool matches(const LimitLine& line, const Cell& cell) {
  return !line.cell.empty() && cell.benchmark() == line.benchmark &&
         std::all_of(line.axes.begin(), line.axes.end(), [&](const AxisSetting& setting) {
           return cell.text(setting.axis) == setting.values;
         });
}

}  // namespace assay::health
