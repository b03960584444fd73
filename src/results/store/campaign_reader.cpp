#include "results/store/campaign_reader.h"

#include <fmt/format.h>

#include <set>
#include <system_error>

#include "core/json.h"
#include "core/read_file.h"
#include "core/yaml_text.h"
#include "results/store/unit_line.h"

namespace assay {
namespace {

const YamlValue* member(const YamlValue& map, std::string_view key) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    if (map.keys[i].text == key) return &map.items[i];
  }
  return nullptr;
}

/// Reads a list of texts or one text.
std::vector<std::string> texts_of(const YamlValue* value) {
  if (value == nullptr) return {};
  if (value->kind == YamlValue::Kind::text) return {value->text};
  std::vector<std::string> texts;
  for (const YamlValue& item : value->items) texts.push_back(item.text);
  return texts;
}

/// Reads a plan without checking its keys: the code that begins and continues campaigns (plan.h)
/// has checked them.
Result<YamlValue> read_plan(const std::string& file) {
  constexpr std::size_t most_bytes = std::size_t{16} << 20;
  const std::string text = TRY(read_operand(file, most_bytes));
  return parse_yaml(text, file);
}

}  // namespace

Result<std::vector<CampaignUnit>> read_units(const std::filesystem::path& folder) {
  if (!is_campaign(folder)) {
    return Error{ErrorKind::usage,
                 fmt::format("{} is not a campaign: {} and {} must be in it", folder.string(),
                             campaign_plan_name, campaign_units_name)};
  }
  std::vector<CampaignUnit> units;
  std::set<std::pair<std::string, std::size_t>> complete;
  for (UnitLine& line : TRY(read_unit_lines(folder))) {
    CampaignUnit& unit = line.unit;
    if (unit.complete && !complete.insert({unit.environment, unit.pair}).second) {
      unit.complete = false;
    }
    units.push_back(std::move(unit));
  }
  return units;
}

Result<std::vector<std::pair<std::string, std::string>>> read_contrasts(
    const std::filesystem::path& folder) {
  const std::string file = folder / campaign_plan_name;
  const YamlValue plan = TRY(read_plan(file));
  std::vector<std::pair<std::string, std::string>> contrasts;
  if (const YamlValue* study = member(plan, "study")) {
    const YamlValue* each = member(*study, "each");
    const YamlValue* together = member(*study, "together");
    for (const std::string& name : texts_of(together != nullptr ? together : each)) {
      contrasts.emplace_back(name, together_of(name));
    }
  } else if (const YamlValue* environments = member(plan, "environments")) {
    std::vector<std::string> names;
    for (const YamlValue& item : environments->items) {
      const YamlValue* name = member(item, "name");
      if (name != nullptr) names.push_back(name->text);
    }
    for (std::size_t i = 1; i < names.size(); ++i) contrasts.emplace_back(names[0], names[i]);
    if (names.size() == 1) contrasts.emplace_back(names[0], control_of(names[0]));
  }
  if (contrasts.empty()) {
    return Error{ErrorKind::usage, fmt::format("{} names no environments", file)};
  }
  return contrasts;
}

Result<CampaignTerms> read_terms(const std::filesystem::path& folder) {
  const std::string file = folder / campaign_plan_name;
  const YamlValue plan = TRY(read_plan(file));
  std::vector<std::string> keys;
  for (const YamlValue::Key& key : plan.keys) keys.push_back(key.text);
  const YamlReader root = TRY(YamlReader::of(plan, file, "a campaign's plan must be a map", keys));
  CampaignTerms terms;
  TRY(root.optional("description", terms.description));
  TRY(root.optional("subject", terms.subject));
  TRY(root.share("margin", least_margin, most_margin, terms.margin));
  return terms;
}

std::size_t read_pairs_per_draw(const std::filesystem::path& folder) {
  constexpr std::size_t most_bytes = std::size_t{16} << 20, of_older_versions = 2;
  std::error_code error;
  const auto measured = std::filesystem::file_size(folder / campaign_units_name, error);
  if (error || measured == 0) return 1;  // not begun
  const auto text = read_operand(folder / campaign_measure_name, most_bytes);
  if (!text.ok()) return of_older_versions;
  const Json measure = try_parse_json(*text);
  const bool drawn_for_each =
      measure.is_object() && measure.contains("draw") && measure["draw"] == "pair";
  return drawn_for_each ? 1 : of_older_versions;
}

bool is_campaign(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path / campaign_plan_name, ignored) &&
         std::filesystem::is_regular_file(path / campaign_units_name, ignored);
}

std::string control_of(std::string_view name) {
  return fmt::format("{}-control", name);
}

std::string together_of(std::string_view name) {
  return fmt::format("{}-together", name);
}

}  // namespace assay
