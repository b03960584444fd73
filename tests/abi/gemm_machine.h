// Runs gemm cells on a device and expects them to be right.
#pragma once

#include <gtest/gtest.h>

#include "support/run_cell.h"

namespace assay {

inline Result<CellOutcome> run_gemm(Device& device, Stream& stream,
                                    const std::vector<AxisSetting>& settings) {
  return run_cell(device, stream, "gemm", settings);
}

/// Expects that the cell runs and passes its verification; returns its notes.
inline std::map<std::string, std::string> expect_gemm(Device& device, Stream& stream,
                                                      const std::vector<AxisSetting>& settings) {
  const auto outcome = run_gemm(device, stream, settings);
  if (!outcome) {
    ADD_FAILURE() << text_of(settings) << outcome.error().message;
    return {};
  }
  EXPECT_TRUE(outcome->verification.passed) << text_of(settings) << outcome->verification.detail;
  return outcome->notes;
}

}  // namespace assay
