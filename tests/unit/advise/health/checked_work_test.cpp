// What repeated work learns about its operations.
#include "advise/health/checked_work.h"

#include <gtest/gtest.h>

#include "advise/health/corruption_work.h"
#include "compute/device/backend.h"

namespace assay::health {
namespace {

/// The operations of a unit that seem to write nothing, one a line.
std::string operations_without_results(const std::string& cell) {
  auto backends = make_backends();
  const auto device = open_device(backends, "cpu");
  if (!device.ok()) return device.error().message;
  const auto unit = work_of_cell(cell, **device);
  if (!unit.ok()) return unit.error().message;
  const auto work = CheckedWork::prepare(*unit, **device, solo_team(), 1, [] { return false; });
  if (!work.ok()) return work.error().message;
  const auto sums = (*work)->learn();
  if (!sums.ok()) return sums.error().message;
  const auto again = (*work)->repeat();
  if (!again.ok()) return again.error().message;
  if (!(*work)->differing(*again, *sums).empty()) return "a repetition differs";
  std::string names;
  for (const auto& launch : (*work)->launches()) {
    if (launch.count == 0) names += launch.name + "\n";
  }
  return names;
}

TEST(CheckedWork, LearnsWhatOperationsWriteThatGiveTheResultsOfTheRunBefore) {
  EXPECT_EQ(operations_without_results("prefill model=1L2H2K32D64C128F256V prompt=16"), "");
}

}  // namespace
}  // namespace assay::health
