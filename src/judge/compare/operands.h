// Loads what a user names for a comparison: a single side, or both sides of `assay compare`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "judge/compare/result_set.h"
#include "results/record/record.h"
#include "results/store/campaign_reader.h"

namespace assay {

/// `operand` is a store (its folder or a .jsonl file of records), STORE:RUN with a run's whole id,
/// a baseline file (baseline.h), a file of another program, a folder of such files, or
/// CAMPAIGN/ENVIRONMENT. A path that exists is a path, even with a colon in it. If `records` is not
/// null, it is replaced by the records from which the set was made; a baseline has none. Error:
/// usage, naming the path, if it is none of these or has no such run; file if it cannot be read.
Result<ResultSet> load_result_set(const std::string& operand,
                                  std::vector<Record>* records = nullptr);

struct Operands {
  ResultSet a, b;
  std::optional<CampaignTerms> terms;        ///< set if both sides belong to one campaign
  std::vector<Record> records_a, records_b;  ///< the records of `a` and `b`, if requested
  std::optional<ResultSet>
      control;  ///< second measurement of A, if both sides belong to one campaign with a control
};

/// Reads both sides, and the terms if they belong to one campaign; only then are they paired.
/// Error: as load_result_set() and read_terms(); usage, if emulated and real results are mixed.
Result<Operands> load_operands(const std::string& a, const std::string& b,
                               bool with_records = false);

/// Returns what a campaign compares, as A and B for load_operands(). Error: as read_contrasts()
/// (results/store/campaign_reader.h).
Result<std::vector<std::pair<std::string, std::string>>> pairs_of_campaign(
    const std::string& folder);

}  // namespace assay
