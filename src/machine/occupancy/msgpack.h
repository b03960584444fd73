// MessagePack of files that nobody vouches for.
#pragma once

#include "core/json.h"
#include "core/result.h"
#include "machine/occupancy/bytes.h"

namespace assay::occupancy {

/// Decodes one value. The decoder recurses, so what is nested deeper than any metadata is refused
/// first. Error: usage.
Result<SortedJson> read_msgpack(Bytes bytes);

}  // namespace assay::occupancy
