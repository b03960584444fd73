// The short form of a benchmark: axes, and a function that prepares a cell as plain data. It serves
// benchmarks of one device whose cases need none of Case's further hooks.
//
//   const SimpleBenchmark fill{{
//       .name = "fill", .summary = "...", .axes = {...},
//       .prepare = [](const Cell& cell, PrepareContext context) -> Result<SimpleCase> { ... }}};
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measure/grid/benchmark.h"

namespace assay {

/// The properties of a Case as plain data. Buffers and kernels are owned by what the functions
/// capture.
struct SimpleCase {
  Work work;
  Quantity quantity = Quantity::bandwidth;
  Limit limit = Limit::none;
  TimeSource time_source = TimeSource::device_events;
  bool fits_behind_gate = true;                                 ///< see Case::fits_behind_gate()
  bool may_repeat = true;                                       ///< see Case::may_repeat()
  std::vector<std::pair<std::string, std::string>> notes = {};  ///< see Case::notes()
  std::function<Status(Stream&)> enqueue;                       ///< see Case::enqueue()
  std::function<Result<Verification>(Stream&)> verify;          ///< see Case::verify()
};

/// A benchmark that registers itself, so that a file needs only one static object of this type.
class SimpleBenchmark final : public Benchmark {
 public:
  struct Description {
    std::string_view name, summary;  ///< the summary is one line
    std::vector<Axis> axes;
    Result<SimpleCase> (*prepare)(const Cell& cell, PrepareContext context);
    /// Why a cell cannot be measured on a device; null: every cell can.
    std::optional<std::string> (*unsupported)(const Cell& cell, const Device& device) = nullptr;
  };

  explicit SimpleBenchmark(Description description)
      : description_(std::move(description)), registered_{this} {}

  std::string_view name() const override { return description_.name; }
  std::string_view summary() const override { return description_.summary; }
  const std::vector<Axis>& axes() const override { return description_.axes; }
  std::optional<std::string> unsupported(const Cell& cell, const Device& device) const override {
    return description_.unsupported != nullptr ? description_.unsupported(cell, device)
                                               : std::nullopt;
  }
  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override;

 private:
  Description description_;
  BenchmarkRegistry::Add registered_;
};

}  // namespace assay
