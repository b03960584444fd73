// A campaign's plan, from YAML (docs/campaigns.md has every key):
//
//   name: container-tax
//   suite: memory
//   axes: {op: [copy, triad], size: 64MiB}
//   environments:              # the first one is the baseline
//     - {name: host, kind: host}
//     - {name: docker, kind: container, engine: docker, image: ubuntu:24.04}
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "measure/suites/suite.h"
#include "ranks/environments/environment.h"

namespace assay {

struct PlannedEnvironment {
  std::string name;
  std::string kind;
  std::shared_ptr<const Environment> where;
  std::vector<std::pair<std::string, std::string>> variables;  ///< names and values to set there
  /// The servers that the plan's load uses in this environment, as arguments of `assay load`:
  /// {"--url", "http://a:8000"}.
  std::vector<std::string> servers;
};

/// A study of partitions: each is measured alone and together with all others, and so is the whole
/// device.
struct StudyPlan {
  std::vector<std::string> each, together;  ///< names of environments
  std::string whole;                        ///< empty: not measured in this campaign
  /// Store of the whole device's results, measured in an earlier campaign; may be empty.
  std::string whole_before = {};
};

/// The most pairs that a campaign may have.
inline constexpr std::size_t most_campaign_pairs = 10'000;

struct CampaignPlan {
  std::string file;  ///< for messages
  std::string text;  ///< as it was given
  std::string name;
  std::uint64_t seed = 1;
  double margin = 0.02;  ///< a ratio within (1 / (1 + margin), 1 + margin) is equal
  std::size_t least_pairs = 10, most_pairs = 40;
  bool control = true;  ///< the baseline is measured twice, to see what makes no difference
  std::optional<double> budget_seconds;  ///< budget of the whole campaign; empty: no limit
  /// assay's measuring arguments: {"run", "memory", "op=copy,triad"} or {"run", "{...}"} with a
  /// suite on one line.
  std::vector<std::string> measure;
  /// The suite in `measure`, if it has commands; their arguments depend on the environment and the
  /// pair.
  std::optional<Suite> commands;
  std::size_t cells = 0;                      ///< number of the cells that a unit measures
  std::optional<double> unit_budget_seconds;  ///< for `assay run --budget`; empty: no limit
  double unit_timeout_seconds = 0;            ///< after which a unit is killed
  std::string device, telemetry;  ///< for these options of `assay run`; empty: its defaults
  /// For `assay run --ranks`; 0: one process, or as many as the environment starts.
  std::uint64_t ranks = 0;
  std::string hosts;                             ///< for `assay run --hosts`
  std::vector<PlannedEnvironment> environments;  ///< the first one is the baseline
  std::optional<StudyPlan> study;                ///< set if the plan is a partition study
};

/// Parses a plan. Relative paths of suite files start at the plan's folder. Error: usage,
/// "FILE:LINE: what is wrong; what is allowed".
Result<CampaignPlan> parse_campaign_plan(std::string_view yaml, const std::string& file);
/// Error: as read_operand() (core/read_file.h) or parse_campaign_plan().
Result<CampaignPlan> load_campaign_plan(const std::string& path);

/// Returns why a folder begun with plan `before`, from the file `name`, cannot be continued with
/// `now`: "plan.yaml:4: was \"margin: 2%\", is \"margin: 1%\"". Empty if they differ at most in
/// blanks at line ends.
std::string plan_difference(std::string_view name, std::string_view before, std::string_view now);

}  // namespace assay
