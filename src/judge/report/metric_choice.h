// Which metrics of a benchmark are drawn; tables hold all of them.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace assay::report {

/// Whether `metric` of a benchmark that reports `all` is drawn: all of a few, and the usual ones of
/// many.
bool is_shown(std::string_view metric, const std::set<std::string>& all);

}  // namespace assay::report
