// A unit's values, for the campaign's stopping rule and for studies.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "results/store/comparable_metrics.h"

namespace assay {

/// Figures above 0, by cell (its id) and metric.
using UnitValues = std::map<std::pair<std::string, std::string>, Figure>;

/// Adds the figures of a record that passed; those that have no logarithm are left out.
void add_values(const Record& record, UnitValues& values);

}  // namespace assay
