// What the rows of a table of nccl-tests tell about its operation and ranks where the table's head
// is missing.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "results/import/collective.h"

namespace assay {

/// Knows a table by its rows, all of which are of one operation among the same ranks.
class NcclTableGuess {
 public:
  /// `count`: the elements that the row prints.
  void add(const CollectiveRow& row, std::uint64_t count);

  /// Empty unless the columns are clear: only reductions whose bus bandwidth is above their
  /// algorithm's, or which are in chunks, are.
  std::string operation() const;
  /// From the ratio of the two bandwidths, if only one number of ranks rounds to all of them; else
  /// 0.
  std::uint64_t ranks(std::string_view operation) const;

 private:
  double largest_ = 0, ratio_ = 0;  // of the row with the largest bandwidth: the least rounding
  // What the ratio is at least and at most, from all rows.
  double least_ = 0, most_ = std::numeric_limits<double>::infinity();
  bool reduces_ = false, chunks_ = false;
};

}  // namespace assay
