// Writes and reads the "telemetry" object of a record.
#pragma once

#include "core/json_fwd.h"
#include "core/result.h"
#include "machine/telemetry/summary.h"
#include "results/store/json_reader.h"

namespace assay {

Json to_json(const Telemetry& telemetry);
/// Does not trust its input. The readings, `seconds` and `channels`, may both be missing. Error:
/// usage, naming the field.
Result<Telemetry> telemetry_from_json(const JsonReader& json);

}  // namespace assay
