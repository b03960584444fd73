// What makes a record unfit to be judged, whatever number it shows.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/record/record.h"

namespace assay {

/// Why no verdict may rest on this record: it failed, its result was not verified or contradicts
/// its samples, its unit does not fit, its rate lies above its roofline, requests failed or got
/// empty replies. Empty if there is no fault. One sentence, without the cell's name.
std::optional<std::string> fault_of(const Record& record);

/// How much work a record stands for: equal cells must have done equal amounts.
struct Amount {
  std::string name;  ///< "bytes", "operations", "total_output_tokens"
  double value = 0;
  double tolerance = 0;  ///< relative; 0: exactly
};
std::vector<Amount> amounts_of(const Record& record);

/// "unequal work: 100 of A against 130 of B in total_output_tokens"; empty: the amounts agree.
std::optional<std::string> unequal_work(const std::vector<Amount>& a, const std::vector<Amount>& b);

}  // namespace assay
