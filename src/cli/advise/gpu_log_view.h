// The errors of GPUs in a log, for people and as JSON. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "advise/doctor/gpu_log/gpu_log.h"
#include "cli/terminal.h"
#include "core/json_fwd.h"

namespace assay::cli {

/// `lines`: the number of lines that were read; `width` 0 means unlimited.
std::string gpu_log_text(const std::vector<GpuLogEvent>& events, std::size_t lines,
                         std::size_t width, const Style& style);

Json gpu_log_json(const std::vector<GpuLogEvent>& events, std::size_t lines);

}  // namespace assay::cli
