// Results of a cell beside Record::value (record.h): single numbers, and curves.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "statistics/summary.h"

namespace assay {

/// The better direction of a metric; `neither`: a count or a setting.
enum class Better { higher, lower, neither };
std::string_view name_of(Better better);

/// A number that another program, `assay load` or a benchmark reported.
struct Metric {
  std::string name;  ///< in lower case with underscores: "busbw", "mean_ttft"
  double value = 0;  ///< in `unit`
  std::string unit;  ///< "bytes/s", "s", "FLOP/s", "1/s", "tokens/s", "$"; "1": counts and shares
  Better better = Better::neither;
  std::string text;  ///< as another program wrote it, with its unit if any: "184.92 GB/s"; or empty
  /// 95% confidence interval from this run alone; contains `value`.
  std::optional<Interval> interval95 = std::nullopt;
  /// The value is invalid for the reason in the record's note `void_note` (record.h). It is kept as
  /// evidence, never judged, and shown as void.
  bool is_void = false;
};

/// A quantity along another, e.g. the loss along the steps of a training run.
struct Curve {
  std::string name;          ///< "loss"
  std::string along;         ///< "step"
  std::vector<double> x, y;  ///< both have the same length
};

}  // namespace assay
