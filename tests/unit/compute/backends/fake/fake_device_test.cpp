// The scripted device keeps the promises of all devices.
#include "support/device_contract.h"

namespace assay {
namespace {

class FakeDevice : public DeviceContract {
 protected:
  void SetUp() override {
    setenv("ASSAY_FAKE", "launch=0.00001,noise=0.1", 1);
    open("fake");
    unsetenv("ASSAY_FAKE");
  }
};

TEST_F(FakeDevice, AGraphTakesANewCapture) {
  a_graph_takes_a_new_capture();
}
TEST_F(FakeDevice, EventsInAGraphHaveTheTimesOfEachReplay) {
  events_in_a_graph_have_the_times_of_each_replay(1e-9);
}
TEST_F(FakeDevice, AnUntimedEventOrdersAndHasNoTime) {
  an_untimed_event_orders_and_has_no_time();
}
TEST_F(FakeDevice, ProgrammaticLaunchesKeepTheirOrder) {
  programmatic_launches_keep_their_order(1000);
}
TEST_F(FakeDevice, ClustersAreRefused) {
  clusters_are_refused();
}
TEST_F(FakeDevice, TensorMapsAreRefused) {
  tensor_maps_are_refused();
}

}  // namespace
}  // namespace assay
