// Records as JSON, the form in which stores keep them (docs/schema.md).
#pragma once

#include "core/json_fwd.h"
#include "core/result.h"
#include "results/record/record.h"

namespace assay {

/// Returns the object that docs/record.schema.json describes.
Json to_json(const Record& record);
/// Does not trust its input. `device`, unless null, is taken instead of the member "device", which
/// shorten() may have removed. Error: usage, naming the field.
Result<Record> record_from_json(const Json& json, const DeviceFacts* device = nullptr);

}  // namespace assay
