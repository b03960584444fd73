// What every device promises, on virtual MI300Xs: HIP 5.2, which lacks two functions, 6.2, which
// lacks one, and 7.0.
#include "abi/virtual_machine.h"
#include "support/every_device.h"
#include "support/test_device.h"

#ifdef VIRTUAL_HIP

namespace assay {
namespace {

class HipVirtualContract
    : public testing::TestWithParam<std::tuple<std::string, const selftest::Check*>> {};

TEST_P(HipVirtualContract, Keeps) {
  const auto& [release, check] = GetParam();
  VirtualMachine machine(VIRTUAL_HIP + release);
  machine.set("MI300X_MODE", "CPX/NPS4");  // an eighth of the work of a whole GPU
  expect_passes(*check, *open_test_device("hip"));
  EXPECT_EQ(machine.live_objects(), 0) << "something was not released";
}

/// HIP 5.2 alone cannot upload graphs.
TEST(HipVirtualGraphs, AreUploadedSince5_3) {
  for (const std::string release : {"5", "6", "7"}) {
    const VirtualMachine machine(VIRTUAL_HIP + release);
    const auto device = open_test_device("hip");
    const auto stream = std::move(device->create_stream()).value();
    selftest::Stage stage = {*device, *stream};
    const auto answer = selftest::find_checks("graph-update").value().front()->run(stage);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(*answer, release == "5" ? "this runtime cannot upload graphs" : "") << release;
  }
}

INSTANTIATE_TEST_SUITE_P(Rocm, HipVirtualContract,
                         testing::Combine(testing::Values("5", "6", "7"),
                                          testing::ValuesIn(checks_of_every_device(true))),
                         [](const auto& one) {
                           return std::get<0>(one.param) + "_" +
                                  test_name_of(*std::get<1>(one.param));
                         });

}  // namespace
}  // namespace assay

#else
TEST(HipVirtualContract, Keeps) {
  GTEST_SKIP() << "no HIP headers (Debian: libamdhip64-dev) to build the virtual MI300X";
}
#endif
