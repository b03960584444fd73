// The pieces of the kernel dialect that no kernel of assay shows, in every build.
#include "support/every_device.h"
#include "support/kernel_test.h"

namespace assay {
namespace {

class DialectOfKernels : public KernelTest {
 protected:
  void expect_check_passes(std::string_view name) {
    const auto checks = selftest::find_checks(name);
    ASSERT_TRUE(checks) << checks.error().message;
    expect_passes(*checks->front(), *device_);
  }
};

TEST_P(DialectOfKernels, CodesAreThoseOfBitOperations) {
  expect_check_passes("conversions-to-codes");
}

TEST_P(DialectOfKernels, EveryCodeBecomesItsNumber) {
  expect_check_passes("conversions-to-numbers");
}

TEST_P(DialectOfKernels, TheComparisonOfTheDeviceItselfFindsNothing) {
  expect_check_passes("conversions-of-all-numbers");
}

TEST_P(DialectOfKernels, PacksRoundStochasticallyLikeSingleNumbers) {
  expect_check_passes("stochastic-rounding");
}

TEST_P(DialectOfKernels, CopiesPassThroughSharedMemory) {
  expect_check_passes("copies-to-shared-memory");
}

ASSAY_KERNEL_BUILDS(DialectOfKernels);

}  // namespace
}  // namespace assay
