// Converts results of prefill and decode to the form of llama.cpp's llama-bench, for tools that
// read it.
#pragma once

#include <string>

#include "core/result.h"
#include "judge/report/input.h"

namespace assay::report {

/// Returns the array that `llama-bench -o json` prints, for records that passed: prefill as
/// n_prompt ("pp512"), decode as n_gen at n_depth ("tg128" for generate=128 context=128). Like
/// llama-bench it covers one sequence; larger batches are left out. Error: usage, if there are no
/// such records.
Result<std::string> to_llama_bench(const ReportInput& input);

}  // namespace assay::report
