// Shows in a test what a check of the self-test found.
#pragma once

#include <gtest/gtest.h>

#include "core/result.h"

namespace assay {

/// EXPECT_TRUE(holds(check_messages(...)))
template <typename Value>
testing::AssertionResult holds(const Result<Value>& result) {
  if (result.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().message;
}

}  // namespace assay
