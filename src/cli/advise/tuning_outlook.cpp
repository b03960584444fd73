#include "cli/advise/tuning_outlook.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "cli/table.h"
#include "core/json.h"
#include "core/secrets.h"
#include "core/units.h"
#include "judge/report/number_text.h"

namespace assay::cli {
namespace {

struct Outlook {
  bool all_race = false;
  std::size_t search_runs = 0;         ///< at most, unless a setting fails
  std::optional<double> most_seconds;  ///< of search and proof; empty: unknown
};

Outlook outlook_of(const ParameterSpace& space, const TuningRules& rules,
                   const RunDuration& duration) {
  const auto runs = runs_to_race_all(space.size(), search_budget(rules, [] { return 0.0; }));
  Outlook outlook = {runs.has_value(), runs.value_or(rules.runs), std::nullopt};
  if (!duration.most) return outlook;
  const double search = static_cast<double>(outlook.search_runs) * *duration.most;
  outlook.most_seconds = search + 2 * static_cast<double>(rules.most_pairs) * *duration.most;
  return outlook;
}

/// A secret in a variable's value is hidden.
std::vector<std::string> shown_values(const Parameter& parameter) {
  std::vector<std::string> values;
  for (const std::string& value : parameter.values) {
    const bool may_be_secret = names_variable(parameter.name) && value != unset;
    values.push_back(may_be_secret ? hide_secret_value(parameter.name, value) : value);
  }
  return values;
}

std::string parameters_table(const ParameterSpace& space, std::size_t width, const Style& style) {
  Table table({{"parameter"}, {"default"}, {"others"}});
  for (const Parameter& parameter : space.parameters()) {
    std::vector<std::string> values = shown_values(parameter);
    for (std::string& value : values) {
      if (value.empty()) value = "\"\"";
    }
    const std::string usual = values[parameter.usual];
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(parameter.usual));
    table.add({parameter.name, usual, fmt::format("{}", fmt::join(values, ", "))});
  }
  return table.render(width, style);
}

std::string pairs_text(const TuningRules& rules) {
  if (rules.least_pairs == rules.most_pairs) {
    return fmt::format("{} pairs, {} runs", rules.most_pairs, 2 * rules.most_pairs);
  }
  return fmt::format("{} to {} pairs, {} to {} runs", rules.least_pairs, rules.most_pairs,
                     2 * rules.least_pairs, 2 * rules.most_pairs);
}

std::string time_text(const TuningRules& rules, const RunDuration& duration,
                      const Outlook& outlook) {
  std::string text;
  if (rules.seconds) {
    text += fmt::format("time: the search is to end after {}\n", format_clock(*rules.seconds));
  }
  if (duration.arrivals) {
    text += fmt::format("time: the requests of a run arrive in about {}\n",
                        format_seconds(*duration.arrivals));
  }
  if (outlook.most_seconds) {
    text += fmt::format("time: a run is stopped after {}, so all runs take at most {}\n",
                        format_seconds(*duration.most), format_clock(*outlook.most_seconds));
  }
  return text + "time: how long a run takes is known when the default setting has run\n";
}

}  // namespace

std::string outlook_text(const std::string& name, const ParameterSpace& space,
                         const TuningRules& rules, const RunDuration& duration, std::size_t width,
                         const Style& style) {
  const Outlook outlook = outlook_of(space, rules, duration);
  return fmt::format("{}: {} of {}\n", name, report::counted(space.size(), "setting"),
                     report::counted(space.parameters().size(), "parameter")) +
         parameters_table(space, width, style) +
         fmt::format("search: {} runs{}\n", outlook.search_runs,
                     outlook.all_race
                         ? ", in which all settings race"
                         : " at most, which explore settings; the most promising ones race") +
         fmt::format("proof: the default setting and the best other one alternate in {}\n",
                     pairs_text(rules)) +
         time_text(rules, duration, outlook);
}

Json outlook_json(const std::string& name, const ParameterSpace& space, const TuningRules& rules,
                  const RunDuration& duration) {
  const Outlook outlook = outlook_of(space, rules, duration);
  Json parameters = Json::array();
  for (const Parameter& parameter : space.parameters()) {
    const std::vector<std::string> values = shown_values(parameter);
    parameters.push_back(
        {{"name", parameter.name}, {"values", values}, {"usual", values[parameter.usual]}});
  }
  Json json = {{"name", name},
               {"settings", space.size()},
               {"parameters", parameters},
               {"search", {{"all_race", outlook.all_race}, {"most_runs", outlook.search_runs}}},
               {"proof", {{"least_pairs", rules.least_pairs}, {"most_pairs", rules.most_pairs}}}};
  if (rules.seconds) json["search"]["seconds"] = *rules.seconds;
  if (duration.arrivals) json["seconds_of_arrivals"] = *duration.arrivals;
  if (duration.most) json["most_seconds_of_run"] = *duration.most;
  if (outlook.most_seconds) json["most_seconds"] = *outlook.most_seconds;
  return json;
}

}  // namespace assay::cli
