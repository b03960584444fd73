#include "advise/health/sdc_reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "advise/health/sdc_json.h"
#include "compute/device/backend.h"
#include "core/json.h"
#include "core/json_text.h"
#include "core/version.h"
#include "results/store/json_reader.h"

namespace assay::health {
namespace {

constexpr std::uint64_t reference_version = 1;

}  // namespace

std::string kind_of(const DeviceFacts& facts) {
  return fmt::format("{}, {}, {} multiprocessors{}{}", facts.name, facts.arch,
                     facts.multiprocessors, facts.partition.empty() ? "" : ", ", facts.partition);
}

Result<SdcReference> read_reference(std::string_view text) {
  const Json json = TRY(parse_json(text));
  const JsonReader reader = TRY(JsonReader::of(json));
  const std::uint64_t format = TRY(reader.count("health_sdc_reference"));
  if (format != reference_version) {
    return reader.wrong(
        "health_sdc_reference",
        fmt::format("is {}; this assay reads references of version {}", format, reference_version));
  }
  SdcReference reference;
  reference.kind = TRY(reader.text("kind"));
  reference.made_with["assay"] = TRY(reader.text("assay"));
  if (reader.has("seed")) {
    reference.made_with["seed"] = std::to_string(TRY(reader.count("seed")));
  }
  if (reader.has("libraries")) {
    for (const auto& [role, known] : TRY(reader.texts("libraries"))) {
      reference.made_with[role] = known;
    }
  }
  const Json* const units = reader.find("units");
  if (units == nullptr || !units->is_array()) return reader.wrong("units", "must be a list");
  for (const Json& unit : *units) reference.units.push_back(TRY(unit_from(unit)));
  return reference;
}

std::map<std::string, std::string> makings(const DeviceFacts& facts, std::uint64_t seed) {
  std::map<std::string, std::string> all = {
      {"assay", fmt::format("{} ({})", version(), git_hash())}, {"seed", std::to_string(seed)}};
  for (const auto& backend : make_backends()) {
    if (backend->name() != facts.backend) continue;
    for (const LibraryFact& library : backend->libraries()) {
      if (!library.path.empty()) all[library.role] = library.version;
    }
  }
  return all;
}

std::string other_making(const SdcReference& reference,
                         const std::map<std::string, std::string>& own) {
  for (const auto& [what, value] : own) {
    const auto made = reference.made_with.find(what);
    if (made == reference.made_with.end() || made->second == value) continue;
    return fmt::format("{} {} instead of {}", what, made->second, value);
  }
  return {};
}

std::vector<KeptChoice> choices_of(const SdcReference& reference, std::string_view unit) {
  const auto known = std::ranges::find(reference.units, unit, &SdcUnit::name);
  return known == reference.units.end() ? std::vector<KeptChoice>() : known->choices;
}

std::string other_choice(const SdcUnit& own, const SdcUnit& known) {
  const auto choice_in = [](const SdcUnit& unit, const std::string& key) {
    const auto found = std::ranges::find(unit.choices, key, &KeptChoice::key);
    return found == unit.choices.end() ? "nothing" : fmt::format("\"{}\"", found->choice);
  };
  for (const SdcUnit* const unit : {&own, &known}) {
    for (const KeptChoice& one : unit->choices) {
      const std::string here = choice_in(own, one.key), there = choice_in(known, one.key);
      if (here != there)
        return fmt::format("{}: {} here, {} in the reference", one.about, here, there);
    }
  }
  return "";
}

Status check_kind(const SdcReference& reference, const DeviceFacts& facts) {
  if (reference.kind == kind_of(facts)) return {};
  return Error{ErrorKind::usage,
               fmt::format("the reference is of {}, this device is {}; make one with "
                           "--write-reference on a device of this kind",
                           reference.kind, kind_of(facts))};
}

Result<std::string> reference_of(const SdcOutcome& outcome, const Device& device) {
  if (!outcome.planted_faults.empty()) {
    return Error{
        ErrorKind::verification,
        "no reference is written, because faults were to be planted; test without --plant"};
  }
  if (outcome.verdict != SdcVerdict::sound || outcome.interrupted) {
    return Error{ErrorKind::verification,
                 fmt::format("no reference is written, because the verdict is {}{}; let a test end "
                             "with SOUND",
                             name_of(outcome.verdict),
                             outcome.interrupted ? " of a test that was stopped" : ", not SOUND")};
  }
  Json json = {{"health_sdc_reference", reference_version},
               {"kind", kind_of(device.facts())},
               {"seed", outcome.seed},
               {"libraries", Json::object()},
               {"units", Json::array()}};
  for (const auto& [what, value] : makings(device.facts(), outcome.seed)) {
    if (what == "assay") {
      json["assay"] = value;
    } else if (what != "seed") {
      json["libraries"][what] = value;
    }
  }
  for (const SdcUnit& unit : outcome.units) {
    if (!unit.trail.empty()) json["units"].push_back(with_trail(unit));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay::health
