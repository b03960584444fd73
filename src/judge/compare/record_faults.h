// Finds the faults that make a record unfit to be judged, whatever its value.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/record/record.h"

namespace assay {

/// Returns why no verdict may rest on this record; empty if there is no fault. Faults: its status
/// is `failed` (no other one is a fault), its result was not verified or contradicts its samples,
/// its unit does not fit, its rate is above its roofline, requests failed or got empty replies. The
/// text is one sentence, without the cell's name.
std::optional<std::string> fault_of(const Record& record);

/// An amount of work that a record represents; equal cells must have done equal amounts.
struct Amount {
  std::string name;  ///< "bytes", "operations", "total_output_tokens"
  double value = 0;
  double tolerance = 0;  ///< relative; 0: exactly
};
/// Returns its bytes and operations per repetition, if above 0, and the tokens of a load.
std::vector<Amount> amounts_of(const Record& record);

/// Returns "unequal work: 100 of A against 130 of B in total_output_tokens"; empty if the amounts
/// agree that both sides have.
std::optional<std::string> unequal_work(const std::vector<Amount>& a, const std::vector<Amount>& b);

}  // namespace assay
