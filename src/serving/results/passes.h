// Several passes over one load point as one record.
#pragma once

#include <span>

#include "results/record/record.h"

namespace assay {

/// The record of all passes over one point, in order and with at least one: every metric is the
/// mean over the passes that are not void, and with two or more its interval is Student's t from
/// their spread, which also has what differs between passes. It is passed if any pass is; a note
/// says what each came to. Telemetry is that of the first pass that counts.
Record record_of_passes(std::span<const Record> passes);

}  // namespace assay
