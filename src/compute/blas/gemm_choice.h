// Under which key the choice of an algorithm is kept (ChoiceCache), for those who choose and those
// who tune in advance.
#pragma once

#include <cstddef>
#include <string>

#include "compute/blas/blas.h"
#include "compute/choice/choice_cache.h"

namespace assay {

/// Everything about a problem, in one line; equal if and only if the problems are.
std::string problem_text(const GemmProblem& problem);

/// The choice is an algorithm's name.
ChoiceKey gemm_choice_key(const BlasFacts& library, const GemmProblem& problem,
                          std::size_t workspace_bytes);

}  // namespace assay
