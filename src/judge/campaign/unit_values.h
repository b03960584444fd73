// What a unit measured, as the campaign's stopping rule and its studies need it.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "measure/store/figures.h"

namespace assay {

/// Figures above 0, by cell and metric.
using UnitValues = std::map<std::pair<std::string, std::string>, Figure>;

/// Adds those of a record; what has no logarithm is left out.
void add_values(const Record& record, UnitValues& values);

}  // namespace assay
