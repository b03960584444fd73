// Several passes over one load point as one record.
#pragma once

#include <span>

#include "results/record/record.h"

namespace assay {

/// Returns the record of all passes over one point, given in order; a single pass stays as it is.
/// The passes that passed count, or all of them if none did. Each metric that all of these have is
/// their mean, void if it is void in any. From two on its interval is Student's t from their
/// spread, and counts and shares have none. Notes say what each pass came to. The rest, such as
/// telemetry, is that of the first pass that counts.
Record record_of_passes(std::span<const Record> passes);

}  // namespace assay
