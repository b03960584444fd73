// What repeated work learns about its operations.
#include "advise/health/checked_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advise/health/corruption_work.h"
#include "advise/health/sdc_calibration.h"
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

TEST(CheckedWork, IsOfOneCell) {
  auto backends = make_backends();
  const auto device = open_device(backends, "cpu").value();
  EXPECT_TRUE(work_of_cell("gemm shape=64 dtype=f32", *device).ok());
  for (const char* text : {"gemm shape=64 f32", "gemm shape=64,96 dtype=f32", "no shape=64", ""}) {
    EXPECT_EQ(work_of_cell(text, *device).error().kind, ErrorKind::usage) << text;
  }
}

TEST(CheckedWork, LearnsWhatOperationsWriteThatGiveTheResultsOfTheRunBefore) {
  EXPECT_EQ(operations_without_results("prefill model=1L2H2K32D64C128F256V prompt=16"), "");
}

/// The first two repetitions agree, all later ones differ from them and from each other.
TEST(CheckedWork, AnOperationThatFirstDiffersInALaterRepetitionIsNamed) {
  auto backends = make_backends();
  const auto device = open_device(backends, "cpu").value();
  UnderTest unit;
  unit.description = work_of_cell("prefill model=1L2H2K32D64C128F256V prompt=16", *device).value();
  unit.work =
      CheckedWork::prepare(unit.description, *device, solo_team(), 1, [] { return false; }).value();
  CheckedWork& work = *unit.work;
  std::uint64_t repetition = 0;  // the first one is learnt, and not observed
  std::string name;
  work.observe([&](Stream&, std::size_t launch) -> Status {
    if (launch == 0) ++repetition;
    if (launch != 1 || repetition < 2) return {};
    name = work.launches()[launch].name;
    work.plant(PlantedFault{.text = "", .work = "", .launch = launch + 1, .mask = repetition});
    return {};
  });
  const auto seen = calibrate(unit, solo_team());
  ASSERT_TRUE(seen.ok()) << seen.error().message;
  EXPECT_EQ(repetition, 7u);
  EXPECT_TRUE(seen->empty());
  EXPECT_THAT(unit.report.left_out, testing::HasSubstr("they differ in operation 2, " + name));
}

}  // namespace
}  // namespace assay::health
