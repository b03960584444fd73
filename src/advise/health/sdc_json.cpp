#include "advise/health/sdc_json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "core/optional_json_members.h"
#include "core/version.h"
#include "results/store/json_reader.h"

namespace assay::health {
namespace {

Result<std::uint64_t> hex_member(const JsonReader& json, const char* key) {
  const auto value = from_hex(TRY(json.text(key)));
  if (!value) return json.wrong(key, "must be a number like 0x3f");
  return *value;
}

Result<std::vector<std::string>> texts_of(const JsonReader& json, const char* key) {
  std::vector<std::string> all;
  const Json* const list = json.find(key);
  if (list == nullptr) return all;
  if (!list->is_array()) return json.wrong(key, "must be a list of texts");
  for (const Json& text : *list) {
    if (!text.is_string()) return json.wrong(key, "must be a list of texts");
    all.push_back(text.get<std::string>());
  }
  return all;
}

}  // namespace

std::string hex_of(std::uint64_t value) {
  return fmt::format("0x{:x}", value);
}

std::optional<std::uint64_t> from_hex(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Json choices_json(const std::vector<KeptChoice>& choices) {
  Json json = Json::array();
  for (const KeptChoice& one : choices) {
    json.push_back({{"key", one.key}, {"about", one.about}, {"choice", one.choice}});
  }
  return json;
}

Result<std::vector<KeptChoice>> choices_from(const Json& json) {
  std::vector<KeptChoice> choices;
  for (const Json& one : json) {
    const JsonReader reader = TRY(JsonReader::of(one, "choices"));
    KeptChoice& choice = choices.emplace_back();
    choice.key = TRY(reader.text("key"));
    choice.about = TRY(reader.text("about"));
    choice.choice = TRY(reader.text("choice"));
    if (choice.choice.find('\n') != std::string::npos) {
      return reader.wrong("choice", "must be one line");
    }
  }
  return choices;
}

Json to_json(const SdcUnit& unit) {
  Json json = {{"name", unit.name}};
  put_present(json, "left_out", unit.left_out);
  if (unit.refused) json["refused"] = true;
  if (unit.varies) json["varies"] = true;
  put_present(json, "note", unit.note);
  json["runs"] = unit.runs;
  json["calibration_runs"] = unit.calibration;
  json["operations_per_run"] = unit.operations.size();
  json["seconds"] = unit.seconds;
  put_present(json, "flops", unit.flops);
  put_present(json, "bytes", unit.bytes);
  put_present(json, "checked_bytes", unit.checked_bytes);
  put_present(json, "planted", unit.planted);
  put_present(json, "memory_bytes", unit.memory_bytes);
  put_present(json, "variant", unit.variant);
  if (!unit.trail.empty()) json["checksum"] = hex_of(Checksums::combined(unit.trail));
  if (!unit.choices.empty()) json["choices"] = choices_json(unit.choices);
  json["compared_with"] = unit.compared;
  return json;
}

Json with_trail(const SdcUnit& unit) {
  Json json = to_json(unit);
  json["calls_library"] = unit.calls_library;
  json["operations"] = unit.operations;
  json["scratch_buffers"] = unit.scratch;
  json["trail"] = Json::array();
  for (const std::uint64_t sum : unit.trail) json["trail"].push_back(hex_of(sum));
  return json;
}

Result<SdcUnit> unit_from(const Json& json) {
  const JsonReader reader = TRY(JsonReader::of(json, "units"));
  SdcUnit unit;
  unit.name = TRY(reader.text("name"));
  TRY(reader.optional("left_out", unit.left_out));
  if (reader.has("refused")) unit.refused = TRY(reader.flag("refused"));
  if (reader.has("calls_library")) unit.calls_library = TRY(reader.flag("calls_library"));
  if (reader.has("varies")) unit.varies = TRY(reader.flag("varies"));
  TRY(reader.optional("note", unit.note));
  TRY(reader.optional("runs", unit.runs));
  TRY(reader.optional("calibration_runs", unit.calibration));
  TRY(reader.optional("seconds", unit.seconds));
  TRY(reader.optional("flops", unit.flops));
  TRY(reader.optional("bytes", unit.bytes));
  TRY(reader.optional("checked_bytes", unit.checked_bytes));
  TRY(reader.optional("planted", unit.planted));
  TRY(reader.optional("memory_bytes", unit.memory_bytes));
  TRY(reader.optional("variant", unit.variant));
  unit.operations = TRY(texts_of(reader, "operations"));
  if (const Json* const choices = reader.find("choices")) {
    if (!choices->is_array()) return reader.wrong("choices", "must be a list");
    unit.choices = TRY(choices_from(*choices));
  }
  unit.compared = TRY(texts_of(reader, "compared_with"));
  if (reader.has("scratch_buffers")) {
    for (const double number : TRY(reader.numbers("scratch_buffers"))) {
      constexpr double most = 1e9;
      if (!(number >= 1 && number <= most && number == std::floor(number))) {
        return reader.wrong("scratch_buffers", "must hold whole numbers from 1 to 1e9");
      }
      unit.scratch.push_back(static_cast<std::size_t>(number));
    }
  }
  for (const std::string& text : TRY(texts_of(reader, "trail"))) {
    const auto sum = from_hex(text);
    if (!sum) return reader.wrong("trail", "must hold numbers like 0x3f");
    unit.trail.push_back(*sum);
  }
  if (!unit.trail.empty() && unit.trail.size() != unit.operations.size() + 1) {
    return reader.wrong("trail", "must have one number more than there are operations");
  }
  return unit;
}

Json to_json(const SdcDifference& difference) {
  Json json = {{"unit", difference.unit},           {"run", difference.run},
               {"rank", difference.rank},           {"device", difference.device},
               {"against", difference.against},     {"operation_number", difference.launch},
               {"operation", difference.operation}, {"buffer", difference.buffer},
               {"offset", difference.offset},       {"address", hex_of(difference.address)}};
  if (difference.expected) json["expected"] = hex_of(*difference.expected);
  if (difference.found) json["found"] = hex_of(*difference.found);
  put_present(json, "wrong_words", difference.wrong_words);
  json["wrong_blocks"] = difference.wrong_blocks;
  json["replays"] = difference.replays;
  json["replays_that_differed"] = difference.replayed;
  json["before"] = to_json(difference.before);
  json["after"] = to_json(difference.after);
  return json;
}

Result<SdcDifference> difference_from(const Json& json) {
  const JsonReader reader = TRY(JsonReader::of(json, "differences"));
  SdcDifference difference;
  difference.unit = TRY(reader.text("unit"));
  difference.run = TRY(reader.count("run"));
  TRY(reader.optional("rank", difference.rank));
  difference.device = TRY(reader.text("device"));
  difference.against = TRY(reader.text("against"));
  difference.launch = TRY(reader.count("operation_number"));
  difference.operation = TRY(reader.text("operation"));
  difference.buffer = TRY(reader.count("buffer"));
  difference.offset = TRY(reader.count("offset"));
  difference.address = TRY(hex_member(reader, "address"));
  if (reader.has("expected")) difference.expected = TRY(hex_member(reader, "expected"));
  if (reader.has("found")) difference.found = TRY(hex_member(reader, "found"));
  TRY(reader.optional("wrong_words", difference.wrong_words));
  difference.wrong_blocks = TRY(reader.count("wrong_blocks"));
  TRY(reader.optional("replays", difference.replays));
  TRY(reader.optional("replays_that_differed", difference.replayed));
  if (const Json* const before = reader.find("before")) difference.before = condition_from(*before);
  if (const Json* const after = reader.find("after")) difference.after = condition_from(*after);
  return difference;
}

Json to_json(const SdcOutcome& outcome) {
  Json json = {{"health_sdc", 1},
               {"assay", fmt::format("{} ({})", version(), git_hash())},
               {"verdict", name_of(outcome.verdict)},
               {"why", outcome.why},
               {"device", outcome.device},
               {"seed", outcome.seed},
               {"ranks", outcome.ranks},
               {"seconds", outcome.seconds},
               {"tested_seconds", outcome.tested_seconds},
               {"interrupted", outcome.interrupted}};
  put_present(json, "flops", outcome.flops);
  put_present(json, "bytes", outcome.bytes);
  if (!outcome.planted_faults.empty()) {
    json["planted_faults"] = outcome.planted_faults;
    json["planted"] = outcome.planted;
  }
  json["coverage"] = Json::array();
  for (const SdcCoverage& one : outcome.coverage) json["coverage"].push_back(to_json(one));
  put_present(json, "faults_per_device_hour_below", outcome.faults_per_device_hour);
  put_present(json, "faults_per_1e15_flops_below", outcome.faults_per_1e15_flops);
  put_present(json, "faults_per_1e15_bytes_below", outcome.faults_per_1e15_bytes);
  json["difference_count"] = outcome.difference_count;
  json["differences"] = Json::array();
  for (const SdcDifference& one : outcome.differences) json["differences"].push_back(to_json(one));
  json["units"] = Json::array();
  for (const SdcUnit& unit : outcome.units) json["units"].push_back(to_json(unit));
  json["notes"] = outcome.notes;
  return json;
}

}  // namespace assay::health
