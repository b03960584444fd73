// Tables of a report that belong to no chart. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "judge/report/document.h"
#include "judge/report/input.h"

namespace assay::report {

/// Has a row for each compared cell: verdict, effect with its interval, n, smallest detectable
/// effect, control, reason.
Table verdict_table(const Comparison& comparison);

/// Has a row for each environment, cell and metric: median over runs, interval, share of the
/// roofline, or why there is no value.
Table results_table(const std::vector<Environment>& environments);

/// Has the value of every run; nothing is left out.
Table runs_table(const std::vector<Environment>& environments);

/// Lists the differences between the two environments, the likeliest explanation first.
Table difference_table(const Comparison& comparison);

/// Lists every fact of an environment's first fingerprint.
Table fact_table(const ResultSet& results);

/// Shows how each environment was measured: devices, runs, samples, stopping, versions.
Table method_table(const std::vector<Environment>& environments);

}  // namespace assay::report
