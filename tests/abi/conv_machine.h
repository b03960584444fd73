// Runs conv cells on a device and expects them to be right.
#pragma once

#include <gtest/gtest.h>

#include "support/run_cell.h"

namespace assay {

inline Result<CellOutcome> run_conv(Device& device, Stream& stream,
                                    const std::vector<AxisSetting>& settings) {
  return run_cell(device, stream, "conv", settings);
}

/// Expects that the cell runs and passes its verification; returns its notes.
inline std::map<std::string, std::string> expect_conv(Device& device, Stream& stream,
                                                      const std::vector<AxisSetting>& settings) {
  const auto outcome = run_conv(device, stream, settings);
  if (!outcome) {
    ADD_FAILURE() << text_of(settings) << outcome.error().message;
    return {};
  }
  EXPECT_TRUE(outcome->verification.passed) << text_of(settings) << outcome->verification.detail;
  return outcome->notes;
}

/// Small convolutions with every axis: padding, strides that leave a rest, dilation, groups, both
/// layouts, two and three dimensions.
inline std::vector<std::vector<AxisSetting>> small_convolutions() {
  return {
      {{"c", "6"}, {"k", "4"}, {"h", "7"}, {"w", "5"}},
      {{"c", "3"}, {"k", "8"}, {"h", "11"}, {"filter", "7"}, {"stride", "2"}, {"pad", "3"}},
      {{"c", "5"}, {"k", "7"}, {"h", "8"}, {"filter", "1"}, {"stride", "2"}, {"pad", "0"}},
      {{"c", "8"},
       {"k", "8"},
       {"h", "9"},
       {"w", "6"},
       {"filter", "3x2"},
       {"stride", "2x1"},
       {"pad", "1x2"},
       {"dilation", "1x2"},
       {"groups", "2"}},
      {{"c", "8"}, {"k", "16"}, {"h", "6"}, {"groups", "8"}},
      {{"c", "4"}, {"k", "6"}, {"d", "4"}, {"h", "5"}, {"w", "6"}},
      {{"c", "4"},
       {"k", "4"},
       {"d", "6"},
       {"h", "7"},
       {"w", "5"},
       {"filter", "2x3x1"},
       {"stride", "2x1x2"},
       {"pad", "1x0x0"},
       {"dilation", "2x1x1"},
       {"groups", "2"}},
  };
}

}  // namespace assay
