// The scripted device keeps the promises of all devices.
#include <set>

#include "support/every_device.h"
#include "support/test_device.h"

namespace assay {
namespace {

class FakeDevice : public testing::TestWithParam<const selftest::Check*> {};

TEST_P(FakeDevice, Keeps) {
  const auto device = open_fake_device("launch=0.00001,noise=0.1");
  expect_passes(*GetParam(), *device);
}

/// Left out: its streams run at once, so they do not wait for each other, for gates or for the
/// host's clock.
std::vector<const selftest::Check*> kept_promises() {
  static const std::set<std::string_view> left_out = {
      "gate",         "event-times",   "event-resolution",
      "stream-waits", "graph-streams", "graph-nested-streams"};
  auto checks = checks_of_every_device(false);
  std::erase_if(checks, [](const auto* check) { return left_out.contains(check->name); });
  return checks;
}
INSTANTIATE_TEST_SUITE_P(Promise, FakeDevice, testing::ValuesIn(kept_promises()),
                         [](const auto& check) { return test_name_of(*check.param); });

}  // namespace
}  // namespace assay
