// A comparison as JSON; docs/schema.md says what each member means.
#pragma once

#include "judge/compare/comparison.h"

namespace assay {

Json to_json(const Comparison& comparison);

}  // namespace assay
