// Every check of `assay selftest` on the default accelerator, each as a test. All skip on a CPU,
// and where a check says that this machine cannot be asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <ostream>

#include "advise/selftest/check.h"
#include "compute/device/helpers.h"
#include "support/test_device.h"

namespace assay::selftest {

static void PrintTo(const Check& check, std::ostream* to) {
  *to << check.name;
}

namespace {

std::vector<Check> sorted_checks() {
  std::vector<Check> checks = CheckRegistry::entries();
  std::ranges::sort(checks, {}, &Check::name);
  return checks;
}

class Selftest : public testing::TestWithParam<Check> {};

TEST_P(Selftest, Holds) {
  const Check& check = GetParam();
  const auto device = open_test_device("");
  ASSERT_NE(device, nullptr);
  if (device->facts().is_host_cpu()) GTEST_SKIP() << "no accelerator on this machine";
  if (device->siblings() < check.devices) {
    GTEST_SKIP() << "fewer than " << check.devices << " accelerators on this machine";
  }
  const auto stream = std::move(device->create_stream()).value();
  Stage stage{*device, *stream, suits_large_work(device->facts())};
  const Answer answer = check.run(stage);
  if (answer.ok()) {
    if (!answer.value().empty()) std::printf("%s\n", answer.value().c_str());
    return;
  }
  const Error& error = answer.error();
  const bool cannot_be_asked =
      error.kind == ErrorKind::unsupported || error.kind == ErrorKind::unavailable;
  if (cannot_be_asked) GTEST_SKIP() << error.message;
  FAIL() << error.message;
}

INSTANTIATE_TEST_SUITE_P(, Selftest, testing::ValuesIn(sorted_checks()), [](const auto& check) {
  std::string name(check.param.name);
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace assay::selftest
