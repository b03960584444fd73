// The key under which the choice of a GEMM algorithm is kept (ChoiceCache). It is shared by code
// that chooses at run time and code that tunes in advance.
#pragma once

#include <cstddef>
#include <string>

#include "compute/autotune/choice_cache.h"
#include "compute/vendor/blas/blas.h"

namespace assay {

/// Returns everything about a problem in one line; equal if and only if the problems are.
std::string problem_text(const GemmProblem& problem);

/// Returns how many different matrices B, 1 to 8, are multiplied in turn when algorithms are
/// measured. A skinny GEMM (m up to 256) takes the time to read B, of which a model has many. A
/// single B would stay in the device's caches and lead to another choice.
std::size_t matrices_to_read(const DeviceFacts& facts, const GemmProblem& problem);

/// The choice is an algorithm's name. A choice measured on one matrix has a different key from one
/// measured on several.
ChoiceKey gemm_choice_key(const DeviceFacts& facts, const BlasFacts& library,
                          const GemmProblem& problem, std::size_t workspace_bytes);

}  // namespace assay
