// The benchmark `rdma`, driven by two ranks over TCP.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/rdma_pair.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(Rdma, EveryOperationArrivesWholeOverTcp) {
  for (const char* op : {"write", "read", "send"}) {
    for (const char* direction : {"one", "both"}) {
      for (const char* size : {"2", "100", "4096", "100000", "1048576"}) {
        SCOPED_TRACE(std::string(op) + " " + direction + " " + size);
        const PairOutcome outcome = run_pair(
            {{"op", op}, {"direction", direction}, {"size", size}, {"qps", "2"}, {"depth", "16"}});
        ASSERT_EQ(outcome.error, "");
        EXPECT_TRUE(outcome.verification.passed) << outcome.verification.detail;
        EXPECT_GT(outcome.value, 0);
      }
    }
  }
}

TEST(Rdma, LatencyArrivesWholeOverTcp) {
  for (const char* op : {"write", "read", "send"}) {
    for (const char* size : {"2", "8192", "100000"}) {
      SCOPED_TRACE(std::string(op) + " " + size);
      const PairOutcome outcome =
          run_pair({{"op", op}, {"metric", "latency"}, {"size", size}, {"depth", "1"}});
      ASSERT_EQ(outcome.error, "");
      EXPECT_TRUE(outcome.verification.passed) << outcome.verification.detail;
      EXPECT_GT(outcome.value, 1e-7);
      EXPECT_LT(outcome.value, 1);
    }
  }
}

TEST(Rdma, BatchesAndRanksThatTakeNoPart) {
  const PairOutcome outcome = run_pair(
      {{"op", "send"}, {"size", "64"}, {"batch", "8"}, {"depth", "8"}, {"from", "2"}, {"to", "0"}},
      3);
  ASSERT_EQ(outcome.error, "");
  EXPECT_TRUE(outcome.verification.passed) << outcome.verification.detail;
  EXPECT_EQ(outcome.notes.at("transport"), "tcp");
  EXPECT_EQ(outcome.notes.at("from_memory_path"), "host");
}

TEST(Rdma, TcpBandwidth) {
  if (std::getenv("ASSAY_TCP_BANDWIDTH") == nullptr) {
    GTEST_SKIP() << "a number for scripts/compare-iperf3, which sets ASSAY_TCP_BANDWIDTH";
  }
  const PairOutcome outcome = run_pair({{"size", "1048576"}, {"depth", "128"}}, 2, 100);
  ASSERT_EQ(outcome.error, "");
  fmt::print("bandwidth {:.0f}\n", outcome.mean_bandwidth);
}

TEST(Rdma, ARankOutsideTheTeamIsAnErrorOnAll) {
  const PairOutcome outcome = run_pair({{"from", "0"}, {"to", "5"}});
  EXPECT_THAT(outcome.error, HasSubstr("rdma from=0 to=5 needs two of the 2 ranks that run"));
}

}  // namespace
}  // namespace assay
