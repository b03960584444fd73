// The tracer of NVIDIA's GPUs on a mock of CUPTI that writes records for what tests say a GPU did.
#include "compute/vendor/tracing/cupti_tracer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "abi/mock_cupti/mock_cupti.h"
#include "core/host_time.h"
#include "core/shared_library.h"

namespace assay {
namespace {

using testing::HasSubstr;

class CuptiTracing : public testing::Test {
 protected:
  void SetUp() override {
    setenv("ASSAY_CUPTI_LIBRARY", MOCK_CUPTI, 1);
    const auto library = SharedLibrary::open({"mock", {MOCK_CUPTI "/libcupti.so.13"}, {""}, ""});
    ASSERT_TRUE(library) << library.error().message;
    library->bind(reset, {"mock_cupti_reset"});
    library->bind(fail, {"mock_cupti_fail"});
    library->bind(set_version, {"mock_cupti_set_version"});
    library->bind(run_kernel, {"mock_cupti_run_kernel"});
    library->bind(move, {"mock_cupti_move"});
    library->bind(copy_to_peer, {"mock_cupti_copy_to_peer"});
    library->bind(create_node, {"mock_cupti_create_node"});
    library->bind(clone_node, {"mock_cupti_clone_node"});
    library->bind(drop, {"mock_cupti_drop"});
    library->bind(now, {"mock_cupti_now"});
    library->bind(enabled, {"mock_cupti_enabled"});
    library->bind(subscribers, {"mock_cupti_subscribers"});
    reset();
  }
  void TearDown() override { unsetenv("ASSAY_CUPTI_LIBRARY"); }

  decltype(&mock_cupti_reset) reset;
  decltype(&mock_cupti_fail) fail;
  decltype(&mock_cupti_set_version) set_version;
  decltype(&mock_cupti_run_kernel) run_kernel;
  decltype(&mock_cupti_move) move;
  decltype(&mock_cupti_copy_to_peer) copy_to_peer;
  decltype(&mock_cupti_create_node) create_node;
  decltype(&mock_cupti_clone_node) clone_node;
  decltype(&mock_cupti_drop) drop;
  decltype(&mock_cupti_now) now;
  decltype(&mock_cupti_enabled) enabled;
  decltype(&mock_cupti_subscribers) subscribers;
};

TEST_F(CuptiTracing, ActivitiesHaveTheTagsOfTheirCallsOnTheHostsClock) {
  const auto tracer = open_cupti_tracer();
  ASSERT_TRUE(tracer) << tracer.error().message;
  EXPECT_EQ((*tracer)->name(), "CUPTI 13.0");
  run_kernel("before", now(), now(), 0);
  ASSERT_TRUE((*tracer)->start());
  const std::int64_t host_before = host_time();
  const std::uint64_t begin = now();
  ASSERT_TRUE((*tracer)->tag(41));
  run_kernel("_ZN5cutex6kernelIfEEvPT_", begin + 2000, begin + 5000, 0);
  ASSERT_TRUE((*tracer)->tag(42));
  move(false, 4096, begin, begin + 500);
  move(true, 64, begin + 600, begin + 700);
  ASSERT_TRUE((*tracer)->tag(0));
  run_kernel("of_nobody", begin + 9000, begin + 9500, 0);
  // The clocks are compared at the start and at the end: an error of a comparison, which may be a
  // microsecond, must be small beside the time between them.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto found = (*tracer)->stop();
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 4u) << "sorted, without what was before the start";
  const DeviceActivity &copy = (*found)[0], &set = (*found)[1], &kernel = (*found)[2],
                       &other = (*found)[3];
  EXPECT_EQ(copy.kind, TraceEventKind::copy);
  EXPECT_EQ(copy.bytes, 4096u);
  EXPECT_EQ(copy.call_tag, 42u);
  EXPECT_EQ(set.kind, TraceEventKind::fill);
  EXPECT_EQ(set.bytes, 64u);
  EXPECT_EQ(kernel.name, "void cutex::kernel<float>(float*)");
  EXPECT_EQ(kernel.call_tag, 41u);
  EXPECT_EQ(kernel.node_tag, 0u);
  EXPECT_EQ(kernel.grid[0], 4u);
  EXPECT_EQ(kernel.grid[1], 2u);
  EXPECT_EQ(kernel.block[0], 256u);
  EXPECT_EQ(other.name, "of_nobody");
  EXPECT_EQ(other.call_tag, 0u);
  EXPECT_NEAR(static_cast<double>(kernel.end - kernel.begin), 3000, 2);
  EXPECT_GE(copy.begin, host_before - 100'000'000) << "on the host's clock, not the library's";
  EXPECT_LE(copy.begin, host_time());
}

TEST_F(CuptiTracing, CopiesBetweenGpusAreCopies) {
  const auto tracer = open_cupti_tracer();
  ASSERT_TRUE(tracer) << tracer.error().message;
  ASSERT_TRUE((*tracer)->start());
  ASSERT_TRUE((*tracer)->tag(5));
  copy_to_peer(1 << 20, now(), now());
  const auto found = (*tracer)->stop();
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().kind, TraceEventKind::copy);
  EXPECT_EQ(found->front().bytes, 1u << 20);
  EXPECT_EQ(found->front().call_tag, 5u);
}

TEST_F(CuptiTracing, KernelsOfGraphsHaveTheTagOfTheirCapture) {
  const auto tracer = open_cupti_tracer();
  ASSERT_TRUE(tracer) << tracer.error().message;
  ASSERT_TRUE((*tracer)->tag(7));
  create_node(1001);
  ASSERT_TRUE((*tracer)->tag(0));
  create_node(1002);  // of nobody
  clone_node(2001, 1001);
  clone_node(2002, 1002);
  ASSERT_TRUE((*tracer)->start());
  ASSERT_TRUE((*tracer)->tag(99));
  const std::uint64_t begin = now();
  run_kernel("first", begin, begin + 10, 2001);
  run_kernel("second", begin + 20, begin + 30, 2002);
  const auto found = (*tracer)->stop();
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].call_tag, 99u);
  EXPECT_EQ((*found)[0].node_tag, 7u);
  EXPECT_EQ((*found)[1].call_tag, 99u);
  EXPECT_EQ((*found)[1].node_tag, 0u);
}

TEST_F(CuptiTracing, WhatItLosesOrRefusesIsAnError) {
  fail("cuptiSubscribe", 39);
  const auto other = open_cupti_tracer();
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(other.error().message, HasSubstr("another profiler traces this process"));
  EXPECT_THAT(other.error().message, HasSubstr("record with --recorder events"));
  fail("cuptiActivityEnable", 2);
  EXPECT_THAT(open_cupti_tracer().error().message,
              HasSubstr("cuptiActivityEnable of kind 10: CUPTI_ERROR_OF_MOCK (2)"));
  EXPECT_EQ(subscribers(), 0) << "a tracer that could not begin leaves nothing behind";
  EXPECT_EQ(enabled(), 0);
  set_version(26);
  const auto tracer = open_cupti_tracer();
  ASSERT_TRUE(tracer) << tracer.error().message;
  EXPECT_EQ((*tracer)->name(), "CUPTI, interface 26");
  EXPECT_THAT(open_cupti_tracer().error().message, HasSubstr("a tracer of CUPTI already"));
  EXPECT_EQ(enabled(), 7) << "the second one did not end the first";
  ASSERT_TRUE((*tracer)->start());
  run_kernel("lost", now(), now(), 0);
  drop(3);
  EXPECT_THAT((*tracer)->stop().error().message, HasSubstr("lost 3 records; record fewer steps"));
  drop(4);
  ASSERT_TRUE((*tracer)->start());
  EXPECT_TRUE((*tracer)->stop()) << "what was lost before the start does not count";
  ASSERT_TRUE((*tracer)->start());
  run_kernel("without times", 0, 0, 0);
  EXPECT_THAT((*tracer)->stop().error().message, HasSubstr("lost 1 records"));
  ASSERT_TRUE((*tracer)->start());
  run_kernel("broken", now(), now(), 0);
  fail("cuptiActivityGetNextRecord", 5);
  EXPECT_THAT((*tracer)->stop().error().message, HasSubstr("cuptiActivityGetNextRecord"));
}

TEST_F(CuptiTracing, ItsEndLeavesNothingBehind) {
  {
    const auto tracer = open_cupti_tracer();
    ASSERT_TRUE(tracer) << tracer.error().message;
    EXPECT_EQ(enabled(), 7);
    EXPECT_EQ(subscribers(), 1);
    run_kernel("unread", now(), now(), 0);
  }
  EXPECT_EQ(enabled(), 0);
  EXPECT_EQ(subscribers(), 0);
  EXPECT_TRUE(open_cupti_tracer());
}

TEST_F(CuptiTracing, WithoutTheLibraryItSaysWhatToInstall) {
  setenv("ASSAY_CUPTI_LIBRARY", "/nonexistent/libcupti.so.13", 1);
  const auto missing = open_cupti_tracer();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(missing.error().message, HasSubstr("/nonexistent/libcupti.so.13"));
}

}  // namespace
}  // namespace assay
