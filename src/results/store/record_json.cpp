// Writes a record as JSON; record_reader.cpp is the inverse. docs/record.schema.json and
// docs/schema.md define each field.
#include "results/store/record_json.h"

#include <algorithm>

#include "core/json.h"
#include "core/optional_json_members.h"
#include "results/store/telemetry_json.h"

namespace assay {
namespace {

constexpr int schema_version = 1;

Json to_json(const Interval& interval) {
  return Json::array({interval.low, interval.high});
}

Json to_json(const SensorReading& reading) {
  Json json = Json::object();
  put_present(json, "clock_hz", reading.clock_hz);
  put_present(json, "memory_clock_hz", reading.memory_clock_hz);
  put_present(json, "power_watts", reading.power_watts);
  put_present(json, "temperature_celsius", reading.temperature_celsius);
  put_present(json, "throttle_reasons", reading.throttle_reasons);
  return json;
}

Json to_json(const Value& value) {
  Json json;
  json["quantity"] = name_of(value.quantity);
  json["unit"] = value.unit.empty() ? unit_of(value.quantity) : std::string_view(value.unit);
  json["median"] = value.median;
  json["interval95"] = to_json(value.interval95);
  if (value.roof) json["roof"] = {{"rate", value.roof->rate}, {"source", value.roof->source}};
  put_present(json, "share", value.share);
  return json;
}

Json to_json(const SampleSet& set) {
  Json json;
  json["time_source"] = name_of(set.time_source);
  json["cache_state"] = name_of(set.cache_state);
  json["gated"] = set.gated;
  json["launches"] = set.launches;
  json["warmup_launches"] = set.warmup_launches;
  json["warmup_stop"] = name_of(set.warmup_stop);
  json["stop"] = name_of(set.stop);
  json["wall_seconds"] = set.wall_seconds;
  json["before"] = to_json(set.before);
  json["after"] = to_json(set.after);
  Json seconds = Json::array(), clocks = Json::array(), throttled = Json::array();
  for (const Sample& sample : set.samples) {
    if (sample.throttled) throttled.push_back(seconds.size());
    seconds.push_back(sample.seconds);
    clocks.push_back(sample.clock_hz ? Json(*sample.clock_hz) : Json());
  }
  json["seconds"] = std::move(seconds);
  if (std::any_of(set.samples.begin(), set.samples.end(),
                  [](const Sample& sample) { return sample.clock_hz.has_value(); })) {
    json["clock_hz"] = std::move(clocks);
  }
  json["throttled"] = std::move(throttled);
  return json;
}

Json to_json(const Summary& summary) {
  Json json;
  json["n"] = summary.n;
  json["effective_n"] = summary.effective_n;
  json["autocorrelation"] = summary.autocorrelation;
  json["minimum"] = summary.minimum;
  json["q1"] = summary.q1;
  json["median"] = summary.median;
  json["q3"] = summary.q3;
  json["p95"] = summary.p95;
  json["maximum"] = summary.maximum;
  json["mean"] = summary.mean;
  json["interval95"] = to_json(summary.interval95);
  return json;
}

Json to_json(const Metric& metric) {
  Json json;
  json["name"] = metric.name;
  json["value"] = metric.value;
  json["unit"] = metric.unit;
  json["better"] = name_of(metric.better);
  put_present(json, "text", metric.text);
  if (metric.interval95) json["interval95"] = to_json(*metric.interval95);
  if (metric.is_void) json["void"] = true;
  return json;
}

Json to_json(const Source& source) {
  Json json;
  json["tool"] = source.tool;
  put_present(json, "version", source.version);
  put_present(json, "file", source.file);
  put_present(json, "line", source.line);
  return json;
}

Json to_json(const Work& work) {
  Json json = {{"bytes", work.bytes},
               {"flops", work.flops},
               {"repetitions", work.repetitions},
               {"math", name_of(work.math)}};
  if (work.tokens > 0) json["tokens"] = work.tokens;
  if (work.samples > 0) json["samples"] = work.samples;
  return json;
}

Json to_json(const Verification& verification) {
  Json json;
  json["passed"] = verification.passed;
  json["method"] = verification.method;
  json["error"] = verification.error;
  json["tolerance"] = verification.tolerance;
  put_present(json, "detail", verification.detail);
  return json;
}

Json to_json(const RankResult& rank) {
  Json json;
  json["rank"] = rank.member.rank;
  json["local_rank"] = rank.member.local_rank;
  json["host"] = rank.member.host;
  json["process"] = rank.member.process;
  put_present(json, "device", rank.device);
  put_present(json, "seconds", rank.seconds);
  put_present(json, "inside_seconds", rank.inside_seconds);
  return json;
}

Json pairs_to_json(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json json = Json::object();
  for (const auto& [key, value] : pairs) json[key] = value;
  return json;
}

}  // namespace

Json to_json(const Record& record) {
  Json json;
  json["schema"] = schema_version;
  json["run"] = record.run;
  json["time"] = record.time;
  json["benchmark"] = record.cell.benchmark();
  json["axes"] = pairs_to_json(record.cell.values());
  json["device"] = to_json(record.device);
  json["status"] = name_of(record.status);
  put_present(json, "reason", record.reason);
  if (record.value) json["value"] = to_json(*record.value);
  for (const Metric& metric : record.metrics) json["metrics"].push_back(to_json(metric));
  for (const Curve& curve : record.curves) {
    json["curves"].push_back(
        {{"name", curve.name}, {"along", curve.along}, {"x", curve.x}, {"y", curve.y}});
  }
  if (record.source) json["source"] = to_json(*record.source);
  if (record.work) json["work"] = to_json(*record.work);
  if (record.samples) json["samples"] = to_json(*record.samples);
  if (record.seconds) json["seconds"] = to_json(*record.seconds);
  for (const RankResult& rank : record.ranks) json["ranks"].push_back(to_json(rank));
  if (record.verification) json["verification"] = to_json(*record.verification);
  if (record.telemetry) json["telemetry"] = to_json(*record.telemetry);
  json["notes"] = pairs_to_json(record.notes);
  json["fingerprint"] = record.fingerprint;
  return json;
}

}  // namespace assay
