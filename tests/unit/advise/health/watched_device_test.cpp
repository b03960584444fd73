#include "advise/health/watched_device.h"

#include <gtest/gtest.h>

#include "compute/autotune/choice_cache.h"
#include "compute/device/helpers.h"
#include "support/temporary_folder.h"
#include "support/test_device.h"

namespace assay::health {
namespace {

/// The CPU as one of several equal GPUs.
class NumberedDevice final : public ForwardingDevice {
 public:
  NumberedDevice(Device& inner, const std::string& uuid)
      : ForwardingDevice(inner), facts_(inner.facts()) {
    facts_.uuid = uuid;
  }
  const DeviceFacts& facts() const override { return facts_; }

 private:
  DeviceFacts facts_;
};

TEST(WatchedDevice, DevicesOfAKindShareWhatWasChosenByMeasuring) {
  const auto cpu = open_test_device("cpu");
  NumberedDevice first(*cpu, "GPU-1"), second(*cpu, "GPU-2");
  Watch of_first, of_second;
  const auto one = watched_device(first, of_first), other = watched_device(second, of_second);
  const TemporaryFolder folder;
  const ChoiceCache cache(folder.path());
  const ChoiceKey key = {"gemm", "library 1", "8x8x8"};
  cache.keep(one->facts(), key, "algorithm 7");
  EXPECT_EQ(cache.find(other->facts(), key), "algorithm 7");
  // What was chosen for one device alone is neither used nor changed.
  EXPECT_FALSE(cache.find(first.facts(), key).has_value());
}

/// Otherwise a library that does not repeat its bits in a graph would be taken for a fault of the
/// device.
TEST(WatchedDevice, ALibraryThatIsCapturedWasCalled) {
  const auto cpu = open_test_device("cpu");
  Watch watch;
  const auto device = watched_device(*cpu, watch);
  const auto stream = device->create_stream().value();
  const Buffer memory = device->allocate(8, MemoryKind::device).value();
  const auto graph = captured(*stream, [&]() -> Status {
    stream->native_handle();
    return stream->fill(memory.data(), 1, 8);
  });
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_TRUE(watch.called_library());
}

}  // namespace
}  // namespace assay::health
