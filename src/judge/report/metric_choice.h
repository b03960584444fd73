// Decides which metrics of a benchmark are drawn; tables hold all of them.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace assay::report {

/// Returns whether `metric` of a benchmark that reports the metrics `all` is drawn: all of them if
/// there are at most four, otherwise those of a list of common ones, such as "busbw".
bool is_shown(std::string_view metric, const std::set<std::string>& all);

}  // namespace assay::report
