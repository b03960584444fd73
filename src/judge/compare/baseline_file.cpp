// Writes and reads the file of a baseline.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "judge/compare/baseline.h"
#include "results/store/json_reader.h"
#include "results/store/store.h"

namespace assay {
namespace {

constexpr std::string_view beginning = "{\"assay_baseline\":";
constexpr std::uint64_t version = 1;
constexpr std::size_t most_bytes = std::size_t{256} << 20;

Json json_of(const Series& series) {
  Json json;
  json["benchmark"] = series.benchmark;
  json["axes"] = Json::object();
  for (const auto& [axis, value] : series.axes) json["axes"][axis] = value;
  json["metric"] = series.key.metric;
  json["unit"] = series.unit;
  json["better"] = name_of(series.better);
  if (series.roof) json["roof"] = {{"rate", series.roof->rate}, {"source", series.roof->source}};
  json["work"] = Json::array();
  for (const Amount& amount : series.work) {
    json["work"].push_back(
        {{"name", amount.name}, {"value", amount.value}, {"tolerance", amount.tolerance}});
  }
  json["points"] = Json::array();
  for (const Point& point : series.points) {
    json["points"].push_back({{"unit", point.unit},
                              {"value", point.value},
                              {"interval95", {point.low, point.high}},
                              {"samples", point.samples},
                              {"throttled", point.throttled}});
  }
  return json;
}

/// Returns the objects in the array `key`. Error: usage, naming the element that is not an object.
Result<std::vector<JsonReader>> objects(const JsonReader& json, const char* key,
                                        const std::string& path) {
  const Json* array = json.find(key);
  if (array == nullptr || !array->is_array()) return json.wrong(key, "must be a list");
  std::vector<JsonReader> list;
  for (std::size_t i = 0; i < array->size(); ++i) {
    list.push_back(TRY(JsonReader::of((*array)[i], fmt::format("{}[{}]", path, i))));
  }
  return list;
}

Result<double> positive(const JsonReader& json, const char* key) {
  const double value = TRY(json.number(key));
  if (!(value > 0) || !std::isfinite(value)) return json.wrong(key, "must be above 0");
  return value;
}

Result<std::string> some_text(const JsonReader& json, const char* key) {
  std::string text = TRY(json.text(key));
  if (text.empty()) return json.wrong(key, "must not be empty");
  return text;
}

class Reader {
 public:
  Result<ResultSet> read(const JsonReader& json) {
    const std::uint64_t found = TRY(json.count("assay_baseline"));
    if (found != version) {
      return json.wrong("assay_baseline",
                        fmt::format("is {}; this assay reads version {}", found, version));
    }
    for (const JsonReader& entry : TRY(objects(json, "fingerprints", "fingerprints"))) {
      TRY(read_fingerprint(entry));
    }
    for (const JsonReader& entry : TRY(objects(json, "units", "units"))) TRY(read_unit(entry));
    for (const JsonReader& entry : TRY(objects(json, "series", "series"))) {
      set_.series.push_back(TRY(read_series(entry)));
    }
    if (set_.series.empty()) return json.wrong("series", "must not be empty");
    std::sort(set_.series.begin(), set_.series.end(),
              [](const Series& a, const Series& b) { return a.key < b.key; });
    const auto twice =
        std::adjacent_find(set_.series.begin(), set_.series.end(),
                           [](const Series& a, const Series& b) { return a.key == b.key; });
    if (twice != set_.series.end()) {
      return json.wrong("series",
                        fmt::format("contains {} {} twice", twice->key.cell, twice->key.metric));
    }
    return std::move(set_);
  }

 private:
  Status read_fingerprint(const JsonReader& json) {
    std::string id = TRY(some_text(json, "id"));
    const Json* fingerprint = json.find("fingerprint");
    if (fingerprint == nullptr || !fingerprint->is_object()) {
      return json.wrong("fingerprint", "must be an object");
    }
    if (fingerprint_id(*fingerprint) != id) {
      return json.wrong("id", "does not match the fingerprint: the file was changed");
    }
    if (ids_.insert(std::move(id)).second) set_.fingerprints.push_back(*fingerprint);
    return {};
  }

  Status read_unit(const JsonReader& json) {
    Unit unit;
    unit.run = TRY(some_text(json, "run"));
    unit.time = TRY(json.text("time"));
    unit.fingerprint = TRY(json.text("fingerprint"));
    unit.device = TRY(json.text("device"));
    if (json.has("emulated")) unit.emulated = TRY(json.flag("emulated"));
    if (!runs_.insert(unit.run).second) return json.wrong("run", "occurs twice");
    set_.units.push_back(std::move(unit));
    return {};
  }

  Result<Series> read_series(const JsonReader& json) {
    Series series;
    series.benchmark = TRY(some_text(json, "benchmark"));
    series.axes = TRY(json.texts("axes"));
    series.key = {Cell(series.benchmark, series.axes).id(), TRY(some_text(json, "metric"))};
    series.unit = TRY(some_text(json, "unit"));
    series.better = TRY(json.one_of("better", Better::higher, Better::lower));
    if (json.has("roof")) {
      const JsonReader roof = TRY(json.object("roof"));
      const double rate = TRY(positive(roof, "rate"));
      series.roof = Roof{rate, TRY(roof.text("source"))};
    }
    for (const JsonReader& entry : TRY(objects(json, "work", "work"))) {
      series.work.push_back(TRY(read_amount(entry)));
    }
    for (const JsonReader& entry : TRY(objects(json, "points", "points"))) {
      const Point point = TRY(read_point(entry));
      if (!series.points.empty() && series.points.back().unit >= point.unit) {
        return entry.wrong("unit", "is not in order");
      }
      series.points.push_back(point);
    }
    if (series.points.size() < least_baseline_runs) {
      return json.wrong("points", fmt::format("has {}; at least {} are needed",
                                              series.points.size(), least_baseline_runs));
    }
    return series;
  }

  Result<Amount> read_amount(const JsonReader& json) {
    Amount amount;
    amount.name = TRY(some_text(json, "name"));
    amount.value = TRY(json.number("value"));
    amount.tolerance = TRY(json.number("tolerance"));
    if (!std::isfinite(amount.value)) return json.wrong("value", "must be a number");
    if (!(amount.tolerance >= 0 && amount.tolerance < 1)) {
      return json.wrong("tolerance", "must be a share from 0 to 1");
    }
    return amount;
  }

  Result<Point> read_point(const JsonReader& json) {
    Point point;
    point.unit = TRY(json.count("unit"));
    if (point.unit >= set_.units.size()) return json.wrong("unit", "is not the index of a unit");
    point.value = TRY(positive(json, "value"));
    const Json* interval = json.find("interval95");
    const bool two = interval != nullptr && interval->is_array() && interval->size() == 2 &&
                     (*interval)[0].is_number() && (*interval)[1].is_number();
    if (!two) return json.wrong("interval95", "must be two numbers");
    point.low = (*interval)[0].get<double>();
    point.high = (*interval)[1].get<double>();
    if (!(point.low <= point.value && point.value <= point.high)) {
      return json.wrong("interval95", "does not hold the value");
    }
    point.samples = TRY(json.count("samples"));
    point.throttled = TRY(json.count("throttled"));
    if (point.throttled > point.samples) return json.wrong("throttled", "is greater than samples");
    return point;
  }

  ResultSet set_;
  std::set<std::string> ids_, runs_;
};

}  // namespace

std::string baseline_text(const Baseline& baseline) {
  Json json;
  json["assay_baseline"] = version;
  json["alpha"] = baseline.rule.alpha;
  json["max_throttled_share"] =
      baseline.rule.allow_throttled ? 1 : baseline.rule.max_throttled_share;
  json["units"] = Json::array();
  for (const Unit& unit : baseline.results.units) {
    json["units"].push_back({{"run", unit.run},
                             {"time", unit.time},
                             {"fingerprint", unit.fingerprint},
                             {"device", unit.device}});
    if (unit.emulated) json["units"].back()["emulated"] = true;
  }
  json["series"] = Json::array();
  for (const Series& series : baseline.results.series) json["series"].push_back(json_of(series));
  json["fingerprints"] = Json::array();
  for (const auto& [id, fingerprint] : baseline.fingerprints) {
    json["fingerprints"].push_back({{"id", id}, {"fingerprint", fingerprint}});
  }
  return json_line(json) + "\n";
}

bool is_baseline(const std::filesystem::path& path) {
  return start_of_file(path, beginning.size()) == beginning;
}

Result<ResultSet> parse_baseline(std::string_view text, std::string name) {
  const Json json = TRY(parse_json(text));
  const JsonReader reader = TRY(JsonReader::of(json));
  ResultSet set = TRY(Reader().read(reader));
  set.name = std::move(name);
  return set;
}

Result<ResultSet> read_baseline(const std::filesystem::path& path, std::string name) {
  auto set = parse_baseline(TRY(read_operand(path, most_bytes)), std::move(name));
  if (set.ok()) return set;
  return Error{set.error().kind,
               fmt::format("{} is not a usable baseline: {}", path.string(), set.error().message)};
}

}  // namespace assay
