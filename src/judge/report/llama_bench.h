// Results of prefill and decode in the form of llama.cpp's llama-bench, for tools that read it.
#pragma once

#include <string>

#include "core/result.h"
#include "judge/report/input.h"

namespace assay::report {

/// The array that `llama-bench -o json` prints, of the records that passed: prefill as n_prompt
/// ("pp512"), decode as n_gen at n_depth ("tg128" for generate=128 context=128), both of one
/// sequence, as llama-bench measures; larger batches are left out. Error: usage, if there are none.
Result<std::string> to_llama_bench(const ReportInput& input);

}  // namespace assay::report
