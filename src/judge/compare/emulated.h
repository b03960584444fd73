// Results of emulated devices and simulated servers come from a model and may be compared only with
// each other.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "core/result.h"
#include "judge/compare/result_set.h"

namespace assay {

/// Sentences of reports about such results begin with this.
constexpr std::string_view of_a_model = "From a model, not measured: ";

/// Returns the error, usage, for comparing two result sets, given by their names.
Error mixture(const std::string& emulated, const std::string& real);

/// Error: usage, if the sets together, or one of them alone, mix units from a model with measured
/// ones.
Status refuse_mixture(std::initializer_list<const ResultSet*> sets);

}  // namespace assay
