// The formats of trace_writer.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/timeline/timeline.h"

namespace assay {

/// A part holds the timeline of `rank`; `shift`, in ns, is added to all times. A whole file is made
/// of the parts of all ranks, whose time 0 is `base`, in ns since 1970.
std::string chrome_part(const Timeline& timeline, int rank, std::int64_t shift);
std::string whole_chrome(const std::vector<std::string>& parts, std::int64_t base);
std::string perfetto_part(const Timeline& timeline, int rank, std::int64_t shift);
std::string whole_perfetto(const std::vector<std::string>& parts, std::int64_t base);

}  // namespace assay
