// Under which key the choice of an algorithm is kept (ChoiceCache), for those who choose and those
// who tune in advance.
#pragma once

#include <cstddef>
#include <string>

#include "compute/autotune/choice_cache.h"
#include "compute/vendor/blas/blas.h"

namespace assay {

/// Everything about a problem, in one line; equal if and only if the problems are.
std::string problem_text(const GemmProblem& problem);

/// How many matrices B a product meets in turn when algorithms are measured. With few rows its time
/// is that of reading B, which a model has many of: one alone would stay in the device's caches and
/// choose for these.
std::size_t matrices_to_read(const DeviceFacts& facts, const GemmProblem& problem);

/// The choice is an algorithm's name. What was chosen on one matrix says nothing of several.
ChoiceKey gemm_choice_key(const DeviceFacts& facts, const BlasFacts& library,
                          const GemmProblem& problem, std::size_t workspace_bytes);

}  // namespace assay
