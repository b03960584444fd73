// Every check of `assay selftest` on the default accelerator, each as a test. All skip on a CPU,
// and where a check says that this machine cannot be asked.
#include "support/every_device.h"
#include "support/test_device.h"

namespace assay {
namespace {

class Selftest : public testing::TestWithParam<const selftest::Check*> {};

TEST_P(Selftest, Holds) {
  const auto device = open_test_device("");
  ASSERT_NE(device, nullptr);
  if (device->facts().is_host_cpu()) GTEST_SKIP() << "no accelerator on this machine";
  expect_passes(*GetParam(), *device);
}

INSTANTIATE_TEST_SUITE_P(, Selftest, testing::ValuesIn(selftest::checks()),
                         [](const auto& check) { return test_name_of(*check.param); });

}  // namespace
}  // namespace assay
