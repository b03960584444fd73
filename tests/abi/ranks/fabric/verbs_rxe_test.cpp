// The kernel's RDMA over plain Ethernet, where it is available: real verbs without an adapter.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "ranks/fabric/verbs.h"
#include "support/rdma_pair.h"

namespace assay {
namespace {

struct CommandOutcome {
  int status = -1;
  std::string output;
};

CommandOutcome shell(const std::string& command) {
  CommandOutcome outcome;
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 256> text;
  while (std::fgets(text.data(), text.size(), pipe) != nullptr) outcome.output += text.data();
  outcome.status = ::pclose(pipe);
  while (outcome.output.ends_with('\n')) outcome.output.pop_back();
  return outcome;
}

/// A soft adapter on the first interface that has an address. Removes the adapter if it created it.
class SoftAdapter {
 public:
  SoftAdapter() {
    shell("modprobe rdma_rxe");  // may fail if it is built in; whether a link can be added decides
    const CommandOutcome interface =
        shell("ip -o -4 addr show scope global | awk 'NR == 1 {print $2}'");
    if (interface.output.empty()) {
      why_not_ = "no interface has an IPv4 address";
      return;
    }
    const CommandOutcome added =
        shell("rdma link add assay_rxe type rxe netdev " + interface.output);
    added_ = added.status == 0;
    if (!added_) why_not_ = "rdma link add: " + added.output;
  }
  ~SoftAdapter() {
    if (added_) shell("rdma link delete assay_rxe");
  }
  const std::string& why_not() const { return why_not_; }

 private:
  bool added_ = false;
  std::string why_not_;
};

TEST(VerbsSoftAdapter, EveryOperationArrivesWhole) {
  const SoftAdapter adapter;
  if (!adapter.why_not().empty()) GTEST_SKIP() << "no rdma_rxe here: " << adapter.why_not();
  unsetenv("ASSAY_VERBS_LIBRARY");
  ASSERT_TRUE(verbs::ports_here()) << verbs::ports_here().error().message;
  for (const char* op : {"write", "read", "send"}) {
    for (const char* metric : {"bandwidth", "latency"}) {
      SCOPED_TRACE(std::string(op) + " " + metric);
      const PairOutcome outcome = run_pair(
          {{"op", op}, {"metric", metric}, {"transport", "verbs"}, {"nic", "nearest"}}, 2, 1);
      ASSERT_EQ(outcome.error, "");
      EXPECT_TRUE(outcome.verification.passed) << outcome.verification.detail;
    }
  }
}

}  // namespace
}  // namespace assay
