// Infers the operation and the number of ranks from the rows of an nccl-tests table whose head is
// missing.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "results/import/collective.h"

namespace assay {

/// Collects the rows of a table, which all have the same operation and ranks.
class NcclTableGuess {
 public:
  /// `count` is the number of elements that the row prints.
  void add(const CollectiveRow& row, std::uint64_t count);

  /// Returns the operation if the columns determine it, else empty. With a reduction it is "reduce"
  /// if there is a root, "reduce_scatter" if the size is that of several counts, and "all_reduce"
  /// if the bus bandwidth is clearly above the algorithm bandwidth. Without one it is "broadcast"
  /// if there is a root, one count and equal bandwidths.
  std::string operation() const;
  /// Returns whether no table of this operation can have these columns and bandwidths.
  bool rules_out(std::string_view operation) const;
  /// Returns the number of ranks that follows from bus bandwidth / algorithm bandwidth, which is
  /// 2 (n - 1) / n for all_reduce and (n - 1) / n for all_gather, reduce_scatter and all_to_all
  /// (nccl-tests, doc/PERFORMANCE.md). Returns 0 if several numbers fit the rounded rows, or none,
  /// and for other operations.
  std::uint64_t ranks(std::string_view operation) const;

 private:
  // Values of the row with the largest bandwidth, which is rounded least.
  double largest_ = 0, ratio_ = 0;
  // These are bounds of the ratio from all rows.
  double least_ = 0, most_ = std::numeric_limits<double>::infinity();
  bool reduces_ = false, chunks_ = false, rooted_ = false;
  bool reduces_nothing_ = false, rootless_ = false;  // the table says so
};

}  // namespace assay
