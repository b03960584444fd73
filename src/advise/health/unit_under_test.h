// A unit of the test for silent data corruption while it is tested.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "advise/health/checked_work.h"
#include "advise/health/sdc.h"

namespace assay::health {

struct UnderTest {
  WorkDescription description;
  std::unique_ptr<CheckedWork> work;  ///< null: left out, or the patterns
  SdcUnit report;
  std::vector<KeptChoice> choices;  ///< choices that the reference or rank 0 tells it to make
  Sums expected;                    ///< set by calibrate()
  double run_seconds = 0;           ///< of one repetition on rank 0
};

}  // namespace assay::health
