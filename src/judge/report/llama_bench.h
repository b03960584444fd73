// Converts results of the benchmarks prefill and decode to the form of llama.cpp's llama-bench, for
// tools that read it.
#pragma once

#include <string>

#include "core/result.h"
#include "judge/report/input.h"

namespace assay::report {

/// Returns the JSON array that `llama-bench -o json` prints, with an object for each record that
/// passed and has samples. Settings of llama.cpp that assay lacks are constant or left out.
///
/// Prefill becomes n_prompt ("pp512"). Decode becomes n_gen = generate and n_depth = context -
/// generate, because `context` includes the generated tokens ("tg128" for generate=128
/// context=128). Like llama-bench it covers one sequence; larger batches are left out. Error:
/// usage, if there are no such records.
Result<std::string> to_llama_bench(const ReportInput& input);

}  // namespace assay::report
