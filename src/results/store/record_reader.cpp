// Reads a record from JSON and checks every field: a store may come from anywhere.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "results/store/json_reader.h"
#include "results/store/record_json.h"
#include "results/store/telemetry_json.h"

namespace assay {
namespace {

constexpr std::size_t most_axes = 128;  // tables and charts compare each axis with the others

Result<Interval> read_interval(const JsonReader& json, const char* key) {
  const Json* array = json.find(key);
  if (array == nullptr || !array->is_array() || array->size() != 2 || !(*array)[0].is_number() ||
      !(*array)[1].is_number()) {
    return json.wrong(key, "must be two numbers");
  }
  return Interval{(*array)[0].get<double>(), (*array)[1].get<double>()};
}

/// Returns the member object `key`, read by `read`.
template <typename T>
Result<T> member(const JsonReader& json, const char* key, Result<T> (*read)(const JsonReader&)) {
  const JsonReader object = TRY(json.object(key));
  return read(object);
}

Result<DeviceFacts> read_device(const JsonReader& json) {
  DeviceFacts facts;
  facts.backend = TRY(json.text("backend"));
  facts.name = TRY(json.text("name"));
  TRY(json.optional("ordinal", facts.ordinal));
  TRY(json.optional("arch", facts.arch));
  TRY(json.optional("pci", facts.pci));
  TRY(json.optional("uuid", facts.uuid));
  TRY(json.optional("partition", facts.partition));
  TRY(json.optional("memory_bytes", facts.memory_bytes));
  TRY(json.optional("last_level_cache_bytes", facts.last_level_cache_bytes));
  TRY(json.optional("multiprocessors", facts.multiprocessors));
  TRY(json.optional("wave_size", facts.wave_size));
  TRY(json.optional("max_threads_per_block", facts.max_threads_per_block));
  TRY(json.optional("max_threads_per_multiprocessor", facts.max_threads_per_multiprocessor));
  TRY(json.optional("shared_bytes_per_block", facts.shared_bytes_per_block));
  TRY(json.optional("clock_hz", facts.clock_hz));
  TRY(json.optional("memory_clock_hz", facts.memory_clock_hz));
  if (json.has("memory_bus_bits")) {
    int bits = 0;
    TRY(json.optional("memory_bus_bits", bits));
    facts.memory_bus_bits = bits;
  }
  if (json.has("ecc")) facts.ecc = TRY(json.flag("ecc"));
  if (json.has("emulated")) facts.emulated = TRY(json.flag("emulated"));
  return facts;
}

Result<Value> read_value(const JsonReader& json) {
  Value value;
  value.quantity = TRY(json.one_of("quantity", Quantity::bandwidth, Quantity::sample_rate));
  TRY(json.optional("unit", value.unit));
  value.median = TRY(json.number("median"));
  value.interval95 = TRY(read_interval(json, "interval95"));
  if (json.has("roof")) {
    const JsonReader roof = TRY(json.object("roof"));
    const double rate = TRY(roof.number("rate"));
    value.roof = Roof{rate, TRY(roof.text("source"))};
  }
  TRY(json.optional("share", value.share));
  return value;
}

Result<Metric> read_metric(const JsonReader& json) {
  Metric metric;
  metric.name = TRY(json.text("name"));
  metric.value = TRY(json.number("value"));
  metric.unit = TRY(json.text("unit"));
  metric.better = TRY(json.one_of("better", Better::higher, Better::neither));
  TRY(json.optional("text", metric.text));
  if (json.has("interval95")) {
    const Interval interval = TRY(read_interval(json, "interval95"));
    if (!(interval.low <= metric.value && metric.value <= interval.high)) {
      return json.wrong("interval95", "does not hold the value");
    }
    metric.interval95 = interval;
  }
  if (json.has("void")) metric.is_void = TRY(json.flag("void"));
  return metric;
}

Result<std::vector<Metric>> read_metrics(const JsonReader& json) {
  std::vector<Metric> metrics;
  const Json* array = json.find("metrics");
  if (array == nullptr) return metrics;
  if (!array->is_array() || array->empty()) {
    return json.wrong("metrics", "must be a non-empty array");
  }
  for (const Json& item : *array) {
    const JsonReader metric = TRY(JsonReader::of(item, "metrics"));
    metrics.push_back(TRY(read_metric(metric)));
  }
  return metrics;
}

Result<std::vector<Curve>> read_curves(const JsonReader& json) {
  std::vector<Curve> curves;
  const Json* array = json.find("curves");
  if (array == nullptr) return curves;
  if (!array->is_array()) return json.wrong("curves", "must be an array");
  for (const Json& item : *array) {
    const JsonReader reader = TRY(JsonReader::of(item, "curves"));
    Curve curve;
    curve.name = TRY(reader.text("name"));
    curve.along = TRY(reader.text("along"));
    curve.x = TRY(reader.numbers("x"));
    curve.y = TRY(reader.numbers("y"));
    if (curve.x.size() != curve.y.size()) return reader.wrong("y", "must be as long as x");
    curves.push_back(std::move(curve));
  }
  return curves;
}

Result<Source> read_source(const JsonReader& json) {
  Source source;
  source.tool = TRY(json.text("tool"));
  TRY(json.optional("version", source.version));
  TRY(json.optional("file", source.file));
  TRY(json.optional("line", source.line));
  return source;
}

Result<Work> read_work(const JsonReader& json) {
  Work work;
  work.bytes = TRY(json.number("bytes"));
  work.flops = TRY(json.number("flops"));
  work.repetitions = TRY(json.number("repetitions"));
  TRY(json.optional("tokens", work.tokens));
  TRY(json.optional("samples", work.samples));
  const std::string name = TRY(json.text("math"));
  const auto math = parse_data_type(name);
  if (!math) return json.wrong("math", "is not a data type");
  work.math = *math;
  return work;
}

Result<SensorReading> read_sensors(const JsonReader& json) {
  SensorReading reading;
  TRY(json.optional("clock_hz", reading.clock_hz));
  TRY(json.optional("memory_clock_hz", reading.memory_clock_hz));
  TRY(json.optional("power_watts", reading.power_watts));
  TRY(json.optional("temperature_celsius", reading.temperature_celsius));
  TRY(json.optional("throttle_reasons", reading.throttle_reasons));
  return reading;
}

Status read_clocks(const JsonReader& json, std::vector<Sample>& samples) {
  const Json* clocks = json.find("clock_hz");
  if (clocks == nullptr) return {};
  if (!clocks->is_array() || clocks->size() != samples.size()) {
    return json.wrong("clock_hz", "must be an array of the same length as seconds");
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Json& clock = (*clocks)[i];
    if (clock.is_null()) continue;
    if (!clock.is_number()) return json.wrong("clock_hz", "must contain only numbers");
    samples[i].clock_hz = clock.get<double>();
  }
  return {};
}

Status read_throttled(const JsonReader& json, std::vector<Sample>& samples) {
  const Json* throttled = json.find("throttled");
  if (throttled == nullptr) return {};
  if (!throttled->is_array()) return json.wrong("throttled", "must be an array");
  // Records of earlier versions have true or false for each sample.
  const bool of_each =
      throttled->size() == samples.size() && std::ranges::all_of(*throttled, &Json::is_boolean);
  for (std::size_t i = 0; i < throttled->size(); ++i) {
    const Json& item = (*throttled)[i];
    if (of_each) {
      samples[i].throttled = item.get<bool>();
    } else if (item.is_number_unsigned() && item.get<std::uint64_t>() < samples.size()) {
      samples[item.get<std::size_t>()].throttled = true;
    } else {
      return json.wrong("throttled",
                        fmt::format("must hold indices of samples, each below {}", samples.size()));
    }
  }
  return {};
}

Result<std::vector<Sample>> read_samples(const JsonReader& json) {
  const Json* seconds = json.find("seconds");
  if (seconds == nullptr || !seconds->is_array()) return json.wrong("seconds", "must be an array");
  std::vector<Sample> samples(seconds->size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!(*seconds)[i].is_number()) return json.wrong("seconds", "must contain only numbers");
    samples[i].seconds = (*seconds)[i].get<double>();
  }
  TRY(read_clocks(json, samples));
  TRY(read_throttled(json, samples));
  return samples;
}

Result<SampleSet> read_sample_set(const JsonReader& json) {
  SampleSet set;
  set.time_source =
      TRY(json.one_of("time_source", TimeSource::device_events, TimeSource::enqueue_only));
  set.cache_state = TRY(json.one_of("cache_state", CacheState::hot, CacheState::cold));
  set.gated = TRY(json.flag("gated"));
  // Records of earlier versions have no number of launches: they launched the work once.
  if (json.has("launches")) set.launches = static_cast<int>(TRY(json.count("launches")));
  set.warmup_launches = TRY(json.count("warmup_launches"));
  set.warmup_stop = TRY(json.one_of("warmup_stop", StopReason::precision, StopReason::not_run));
  set.stop = TRY(json.one_of("stop", StopReason::precision, StopReason::not_run));
  set.wall_seconds = TRY(json.number("wall_seconds"));
  if (json.has("before")) set.before = TRY(member(json, "before", read_sensors));
  if (json.has("after")) set.after = TRY(member(json, "after", read_sensors));
  set.samples = TRY(read_samples(json));
  return set;
}

Result<Summary> read_summary(const JsonReader& json) {
  Summary summary;
  summary.n = TRY(json.count("n"));
  summary.effective_n = TRY(json.number("effective_n"));
  summary.autocorrelation = TRY(json.number("autocorrelation"));
  summary.minimum = TRY(json.number("minimum"));
  summary.q1 = TRY(json.number("q1"));
  summary.median = TRY(json.number("median"));
  summary.q3 = TRY(json.number("q3"));
  summary.p95 = TRY(json.number("p95"));
  summary.maximum = TRY(json.number("maximum"));
  summary.mean = TRY(json.number("mean"));
  summary.interval95 = TRY(read_interval(json, "interval95"));
  return summary;
}

Result<Verification> read_verification(const JsonReader& json) {
  Verification verification;
  verification.passed = TRY(json.flag("passed"));
  verification.method = TRY(json.text("method"));
  verification.error = TRY(json.number("error"));
  verification.tolerance = TRY(json.number("tolerance"));
  TRY(json.optional("detail", verification.detail));
  return verification;
}

Result<RankResult> read_rank(const JsonReader& json) {
  RankResult rank;
  TRY(json.optional("rank", rank.member.rank));
  TRY(json.optional("local_rank", rank.member.local_rank));
  rank.member.host = TRY(json.text("host"));
  TRY(json.optional("process", rank.member.process));
  TRY(json.optional("device", rank.device));
  TRY(json.optional("seconds", rank.seconds));
  TRY(json.optional("inside_seconds", rank.inside_seconds));
  return rank;
}

Result<std::vector<RankResult>> read_ranks(const JsonReader& json) {
  std::vector<RankResult> ranks;
  const Json* array = json.find("ranks");
  if (array == nullptr) return ranks;
  if (!array->is_array()) return json.wrong("ranks", "must be an array");
  for (const Json& item : *array) {
    const JsonReader rank = TRY(JsonReader::of(item, "ranks"));
    ranks.push_back(TRY(read_rank(rank)));
  }
  return ranks;
}

/// Checks that value, metrics, source and status are consistent.
Status check_result(const Record& record) {
  const auto wrong = [](const char* what) {
    return Error{ErrorKind::usage, fmt::format("field value {}", what)};
  };
  if (record.source && record.value) {
    return wrong("is allowed only if there is no source");
  }
  if (record.value && record.status != RecordStatus::passed) {
    return wrong("is allowed only if status is passed");
  }
  if (record.status == RecordStatus::passed && !record.value && record.metrics.empty()) {
    return wrong("is required if status is passed; with a source, metrics are required");
  }
  return {};
}

}  // namespace

Result<Record> record_from_json(const Json& json, const DeviceFacts* device) {
  const JsonReader reader = TRY(JsonReader::of(json));
  if (TRY(reader.count("schema")) != 1) {
    return reader.wrong("schema", "is not 1, the only version this assay reads");
  }
  Record record;
  record.run = TRY(reader.text("run"));
  record.time = TRY(reader.text("time"));
  std::string benchmark = TRY(reader.text("benchmark"));
  auto axes = TRY(reader.texts("axes"));
  if (axes.size() > most_axes) {
    return reader.wrong("axes",
                        fmt::format("has {}; at most {} are allowed", axes.size(), most_axes));
  }
  record.cell = Cell(std::move(benchmark), std::move(axes));
  record.device = device != nullptr ? *device : TRY(member(reader, "device", read_device));
  record.status = TRY(reader.one_of("status", RecordStatus::passed, RecordStatus::interrupted));
  TRY(reader.optional("reason", record.reason));
  if (reader.has("value")) record.value = TRY(member(reader, "value", read_value));
  record.metrics = TRY(read_metrics(reader));
  record.curves = TRY(read_curves(reader));
  if (reader.has("source")) record.source = TRY(member(reader, "source", read_source));
  TRY(check_result(record));
  if (reader.has("work")) record.work = TRY(member(reader, "work", read_work));
  if (reader.has("samples")) record.samples = TRY(member(reader, "samples", read_sample_set));
  if (reader.has("seconds")) record.seconds = TRY(member(reader, "seconds", read_summary));
  record.ranks = TRY(read_ranks(reader));
  if (reader.has("verification")) {
    record.verification = TRY(member(reader, "verification", read_verification));
  }
  if (reader.has("telemetry")) {
    record.telemetry = TRY(member(reader, "telemetry", telemetry_from_json));
  }
  record.notes = TRY(reader.texts("notes"));
  record.fingerprint = TRY(reader.text("fingerprint"));
  return record;
}

}  // namespace assay
