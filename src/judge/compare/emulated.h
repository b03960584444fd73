// Results of emulated devices are a model's: they may be compared with each other alone.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "judge/compare/result_set.h"

namespace assay {

/// How a sentence about emulated devices begins.
constexpr std::string_view of_a_model = "Of a model, not measured: ";

/// What refuses to compare `emulated` with `real`, whose names they are.
Error mixture(const std::string& emulated, const std::string& real);

/// Error: usage, if some units of the sets are of emulated devices and others of real ones.
Status refuse_mixture(std::initializer_list<const ResultSet*> sets);

}  // namespace assay
