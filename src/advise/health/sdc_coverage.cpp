#include "advise/health/sdc_coverage.h"

#include "advise/health/memory_patterns.h"
#include "advise/health/sdc.h"
#include "core/json.h"
#include "core/optional_json_members.h"
#include "results/store/json_reader.h"

namespace assay::health {

void add_units(SdcCoverage& coverage, std::span<const SdcUnit> units) {
  for (const SdcUnit& unit : units) {
    if (!unit.left_out.empty() || unit.runs == 0) continue;
    const bool patterns = unit.name == patterns_name;
    ++coverage.units;
    coverage.runs += unit.runs;
    coverage.operations += unit.runs * (patterns ? kernels_of_patterns : unit.operations.size());
    coverage.flops += unit.flops;
    coverage.bytes += unit.bytes;
    coverage.checked_bytes += unit.checked_bytes;
    coverage.seconds += unit.seconds;
    (patterns ? coverage.pattern_bytes : coverage.unit_bytes) += unit.memory_bytes;
  }
}

Json to_json(const SdcCoverage& coverage) {
  Json json = {{"rank", coverage.rank}, {"device", coverage.device}};
  put_present(json, "memory_bytes", coverage.memory_bytes);
  put_present(json, "pattern_bytes", coverage.pattern_bytes);
  put_present(json, "unit_bytes", coverage.unit_bytes);
  json["multiprocessors"] = coverage.multiprocessors;
  put_present(json, "multiprocessors_seen", coverage.multiprocessors_seen);
  json["units"] = coverage.units;
  json["runs"] = coverage.runs;
  json["operations"] = coverage.operations;
  json["flops"] = coverage.flops;
  json["bytes"] = coverage.bytes;
  json["checked_bytes"] = coverage.checked_bytes;
  json["seconds"] = coverage.seconds;
  json["watched_seconds"] = coverage.power.seconds;
  put_present(json, "power_limited_seconds", coverage.power.limited_seconds);
  json["power_limit_unknown_seconds"] = coverage.power.unknown_seconds;
  put_present(json, "power_mean_watts", coverage.power.mean_watts);
  put_present(json, "power_max_watts", coverage.power.max_watts);
  return json;
}

Result<SdcCoverage> coverage_from(const Json& json) {
  const JsonReader reader = TRY(JsonReader::of(json, "coverage"));
  SdcCoverage coverage;
  TRY(reader.optional("rank", coverage.rank));
  coverage.device = TRY(reader.text("device"));
  TRY(reader.optional("memory_bytes", coverage.memory_bytes));
  TRY(reader.optional("pattern_bytes", coverage.pattern_bytes));
  TRY(reader.optional("unit_bytes", coverage.unit_bytes));
  TRY(reader.optional("multiprocessors", coverage.multiprocessors));
  if (reader.has("multiprocessors_seen")) {
    TRY(reader.optional("multiprocessors_seen", coverage.multiprocessors_seen.emplace()));
  }
  TRY(reader.optional("units", coverage.units));
  TRY(reader.optional("runs", coverage.runs));
  TRY(reader.optional("operations", coverage.operations));
  TRY(reader.optional("flops", coverage.flops));
  TRY(reader.optional("bytes", coverage.bytes));
  TRY(reader.optional("checked_bytes", coverage.checked_bytes));
  TRY(reader.optional("seconds", coverage.seconds));
  TRY(reader.optional("watched_seconds", coverage.power.seconds));
  TRY(reader.optional("power_limited_seconds", coverage.power.limited_seconds));
  TRY(reader.optional("power_limit_unknown_seconds", coverage.power.unknown_seconds));
  TRY(reader.optional("power_mean_watts", coverage.power.mean_watts));
  TRY(reader.optional("power_max_watts", coverage.power.max_watts));
  return coverage;
}

}  // namespace assay::health
