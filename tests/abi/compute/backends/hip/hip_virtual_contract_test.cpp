// What every device promises, on virtual MI300Xs: HIP 5.2, which lacks two functions, 6.2, which
// lacks one, and 7.0.
#include "abi/virtual_machine.h"
#include "support/device_contract.h"

#ifdef VIRTUAL_HIP

namespace assay {
namespace {

class HipVirtualContract : public DeviceContract, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override { open("hip"); }
  void TearDown() override {
    counter_ = Buffer();
    program_.reset();
    stream_.reset();
    device_.reset();
    EXPECT_EQ(machine_.live_objects(), 0) << "something was not released";
  }

  VirtualMachine machine_{VIRTUAL_HIP + GetParam()};
};

TEST_P(HipVirtualContract, AWaitHoldsTheOtherStreamBack) {
  a_wait_holds_the_other_stream_back();
}
TEST_P(HipVirtualContract, GraphReplaysTwoStreamsInOrder) {
  a_graph_replays_two_streams_in_order();
}
TEST_P(HipVirtualContract, MoreMemoryThanThereIsIsRefusedAndTheDeviceLivesOn) {
  more_memory_than_there_is_is_refused();
}
TEST_P(HipVirtualContract, AGraphTakesANewCapture) {
  a_graph_takes_a_new_capture(GetParam() != "5");
}
TEST_P(HipVirtualContract, EventsInAGraphHaveTheTimesOfEachReplay) {
  events_in_a_graph_have_the_times_of_each_replay(1e-6);
}
TEST_P(HipVirtualContract, AnUntimedEventOrdersAndHasNoTime) {
  an_untimed_event_orders_and_has_no_time();
}
TEST_P(HipVirtualContract, ProgrammaticLaunchesKeepTheirOrder) {
  programmatic_launches_keep_their_order(200, false);
}
TEST_P(HipVirtualContract, ClustersAreRefused) {
  clusters_are_refused();
}
TEST_P(HipVirtualContract, TensorMapsAreRefused) {
  tensor_maps_are_refused();
}

INSTANTIATE_TEST_SUITE_P(Rocm, HipVirtualContract, testing::Values("5", "6", "7"));

}  // namespace
}  // namespace assay

#else
TEST(HipVirtualContract, AGraphTakesANewCapture) {
  GTEST_SKIP() << "no HIP headers (Debian: libamdhip64-dev) to build the virtual MI300X";
}
#endif
