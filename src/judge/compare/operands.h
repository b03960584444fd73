// What a user names to be compared: a side, and the two sides of `assay compare`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "judge/compare/result_set.h"
#include "results/record/record.h"
#include "results/store/campaign_reader.h"

namespace assay {

/// `operand`: a store (its folder or a .jsonl file of records), STORE:RUN, a baseline, a
/// file of another program, a folder of such files, or CAMPAIGN/ENVIRONMENT. `records`, if not
/// null, receives the records that the set was made from; none for a baseline. Error: usage, naming
/// the path.
Result<ResultSet> load_result_set(const std::string& operand,
                                  std::vector<Record>* records = nullptr);

struct Operands {
  ResultSet a, b;
  std::optional<CampaignTerms> terms;        ///< if both are of one campaign
  std::vector<Record> records_a, records_b;  ///< what `a` and `b` were made from, if asked for
  std::optional<ResultSet>
      control;  ///< A measured again, if both are of one campaign with a control
};

/// Reads both with load_result_set(). Error: usage.
Result<Operands> load_operands(const std::string& a, const std::string& b,
                               bool with_records = false);

/// What a campaign compares, as operands for load_operands(): see read_contrasts(). Error: usage if
/// `folder` has no plan that can be read.
Result<std::vector<std::pair<std::string, std::string>>> pairs_of_campaign(
    const std::string& folder);

}  // namespace assay
