// MessagePack from untrusted files.
#pragma once

#include "core/json_fwd.h"
#include "core/result.h"
#include "machine/code_object/bytes.h"

namespace assay::occupancy {

/// Decodes one value. The decoder recurses, so values nested deeper than any real metadata are
/// rejected first. Error: usage.
Result<SortedJson> read_msgpack(Bytes bytes);

}  // namespace assay::occupancy
