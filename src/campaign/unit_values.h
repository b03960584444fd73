// What a unit measured, as the campaign's stopping rule and its studies need it.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "store/record.h"

namespace assay {

struct UnitValue {
  double value = 0;  ///< above 0
  Better better = Better::higher;
  std::string unit;
};
/// By cell and metric.
using UnitValues = std::map<std::pair<std::string, std::string>, UnitValue>;

/// Adds those of a record that passed; what has no better side or is not above 0 is left out.
void add_values(const Record& record, UnitValues& values);

/// In log time: more is worse, whichever way the metric counts.
double log_time(const UnitValue& value);

}  // namespace assay
