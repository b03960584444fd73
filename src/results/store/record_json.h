// Records as JSON, the form in which stores keep them (docs/schema.md).
#pragma once

#include "core/json_fwd.h"
#include "core/result.h"
#include "results/record/record.h"

namespace assay {

/// The object that docs/record.schema.json describes.
Json to_json(const Record& record);
/// Does not trust its input. `device`: the value of "device", if it has been read already. Error:
/// usage, naming the field.
Result<Record> record_from_json(const Json& json, const DeviceFacts* device = nullptr);

}  // namespace assay
