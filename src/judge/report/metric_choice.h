// Decides which metrics of a benchmark are drawn; tables hold all of them.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace assay::report {

/// Returns whether `metric` of a benchmark that reports the metrics `all` is drawn. All of them are
/// drawn if there are at most four, or if none is in a list of common ones, such as "busbw";
/// otherwise only those of the list are.
bool is_shown(std::string_view metric, const std::set<std::string>& all);

}  // namespace assay::report
