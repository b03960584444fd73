// MessagePack from untrusted files.
#pragma once

#include "core/json_fwd.h"
#include "core/result.h"
#include "machine/code_object/bytes.h"

namespace assay::occupancy {

/// Decodes the value at the start of `bytes`; what follows it is ignored. The decoder recurses, so
/// values nested deeper than any real metadata (32) are rejected first. Error: usage, also for
/// damaged values.
Result<SortedJson> read_msgpack(Bytes bytes);

}  // namespace assay::occupancy
