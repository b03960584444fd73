// Tables of a report that belong to no chart. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "judge/report/document.h"
#include "judge/report/input.h"

namespace assay::report {

/// A row for each cell compared: verdict, effect with its interval, n, smallest detectable effect,
/// control, reason.
Table verdict_table(const Comparison& comparison);

/// A row for each environment, cell and metric: median over runs, interval, share of the roofline,
/// or why there is no value.
Table results_table(const std::vector<Environment>& environments);

/// The value of every run; nothing is left out.
Table runs_table(const std::vector<Environment>& environments);

/// What differs between the two environments, the likeliest explanation first.
Table difference_table(const Comparison& comparison);

/// Every fact of an environment's first fingerprint.
Table fact_table(const ResultSet& results);

/// How each environment was measured: devices, runs, samples, stopping, versions.
Table method_table(const std::vector<Environment>& environments);

}  // namespace assay::report
