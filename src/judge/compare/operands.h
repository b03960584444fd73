// What `assay compare` is asked to compare.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/compare/result_set.h"

namespace assay {

struct Operands {
  ResultSet a, b;
  std::vector<Record> records_a, records_b;  ///< what they were made from, if asked for
  std::optional<ResultSet> control;  ///< A measured again, if both are of one campaign that did so
};

/// Both as load_result_set() reads them. Error: usage.
Result<Operands> load_operands(const std::string& a, const std::string& b,
                               bool with_records = false);

/// A campaign's environments as operands for load_operands(), the baseline with each other one.
/// Error: usage if `folder` is no campaign or has only one environment.
Result<std::vector<std::pair<std::string, std::string>>> pairs_of_campaign(
    const std::string& folder);

}  // namespace assay
