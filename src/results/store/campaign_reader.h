// Reads a campaign's folder: which run measured which environment, and which runs are pairs.
//   DIR/plan.yaml       the plan as it was given
//   DIR/measure.json    what each unit measures, and how the order of units is drawn
//   DIR/units.jsonl     a line for every unit that ended, complete or not (docs/campaigns.md)
//   DIR/ENVIRONMENT/    a store of all its units' records
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay {

constexpr const char* campaign_plan_name = "plan.yaml";
constexpr const char* campaign_units_name = "units.jsonl";
constexpr const char* campaign_measure_name = "measure.json";

/// Bounds, exclusive, of a plan's margin, which is a share: 0.02 is 2%.
constexpr double least_margin = 0, most_margin = 1;

/// One ended attempt at measuring an environment: one process.
struct CampaignUnit {
  std::string environment;  ///< its name, which is also the folder in DIR that holds its records
  std::string run;          ///< id of the run; empty if the process never reported one
  std::size_t pair = 0;     ///< units with the same number were measured one after the other
  /// Whether it measured every cell, or it is a retry and measured some of them. Incomplete units
  /// are not used.
  bool complete = false;
};

/// Returns units in the order in which they ended. At most one unit of an environment and pair is
/// complete: further ones become incomplete. Torn lines and lines that are not units are left out,
/// because nothing in the file is trusted. Error: as read_operand() (core/read_file.h); usage if
/// `folder` is not a campaign.
Result<std::vector<CampaignUnit>> read_units(const std::filesystem::path& folder);

/// Returns what the campaign's plan compares, as pairs of environments' names, the baseline first.
/// The first environment is compared with each of the others, or with its own control if there are
/// none. A study compares each partition alone with the same partition while the others run too.
/// Error: as read_operand(); usage if the plan is not valid.
Result<std::vector<std::pair<std::string, std::string>>> read_contrasts(
    const std::filesystem::path& folder);

/// The campaign's purpose and its margin of equality.
struct CampaignTerms {
  std::string description;
  std::string subject;   ///< what the answer calls the environment under test; may be empty
  double margin = 0.02;  ///< a ratio within (1 / (1 + margin), 1 + margin) is equal
};
/// Reads the terms from the campaign's plan. Error: as read_operand(); usage if it is no valid
/// plan.
Result<CampaignTerms> read_terms(const std::filesystem::path& folder);

/// Returns for how many consecutive pairs the order of their units is drawn at once. It is 1, or 2
/// in campaigns of an older version of assay, which measured the second pair in the reverse order
/// of the first. A folder with units but without this information counts as an old one, whose pairs
/// prove less. A file that cannot be read lacks the information. For a folder without units it
/// is 1.
std::size_t read_pairs_per_draw(const std::filesystem::path& folder);

/// Returns whether `path` is a folder with plan.yaml and units.jsonl.
bool is_campaign(const std::filesystem::path& path);

/// Returns the name under which environment `name` is measured a second time in every pair:
/// "NAME-control".
std::string control_of(std::string_view name);
/// Returns the name under which a study measures partition `name` while the others run too:
/// "NAME-together".
std::string together_of(std::string_view name);

}  // namespace assay
