#include "tune/gemm/product_record.h"

#include <utility>

namespace assay {

Record record_of(const TunedProduct& tuned) {
  const ProductOutcome& outcome = tuned.outcome;
  Record record;
  record.cell = Cell("tuned_gemm", {{"product", describe(tuned.product.problem)}});
  record.source = Source{"assay tune gemm", "", "", 0};
  record.notes.emplace_back("problem", outcome.problem);
  if (!outcome.reason.empty()) {
    record.reason = outcome.reason;
    return record;
  }
  record.status = RecordStatus::passed;
  record.metrics = {
      {"time", outcome.best_seconds(), "s", Better::lower, "", std::nullopt},
      {"time_before", outcome.usual_seconds, "s", Better::neither, "", std::nullopt},
      {"gain", outcome.proven ? outcome.gain : 1, "1", Better::neither, "", std::nullopt}};
  record.notes.emplace_back("before", outcome.usual.library + " " + outcome.usual.algorithm);
  record.notes.emplace_back("best", outcome.best.library + " " + outcome.best.algorithm);
  Curve curve{"time over that of the library's choice", "solution, from the fastest on", {}, {}};
  for (std::size_t i = 0; i < outcome.first_times.size(); ++i) {
    curve.x.push_back(static_cast<double>(i + 1));
    curve.y.push_back(outcome.first_times[i]);
  }
  record.curves.push_back(std::move(curve));
  return record;
}

}  // namespace assay
