// Which metrics of a benchmark are drawn; tables hold all of them.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace assay::report {

/// Of a benchmark that reports `all`: every one of a few, and of dozens those a reader looks for.
bool is_shown(std::string_view metric, const std::set<std::string>& all);

}  // namespace assay::report
