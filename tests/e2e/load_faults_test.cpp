// The simulated server does what goes wrong in real ones; assay load counts it correctly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "e2e/process.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

struct Fault {
  const char* name;
  int completed, failed, empty;  ///< of 4 requests
  const char* said;              ///< part of the output of assay load
};

class LoadFaults : public testing::TestWithParam<Fault> {};

TEST_P(LoadFaults, AreClassified) {
  const Fault fault = GetParam();
  const std::string server = fmt::format(
      "'{}' serve-sim --port {{port}} --ttft 5ms --itl 1ms --fault {}", ASSAY_BINARY, fault.name);
  Process process({"load", "--spawn", server, "--max-concurrency", "4", "--requests", "4",
                   "--input", "8", "--output-tokens", "6", "--timeout",
                   fault.name == std::string("hang") ? "1s" : "60s", "--out", "-"});
  const Outcome outcome = process.wait();
  const std::string line = outcome.out.substr(outcome.out.find('\n') + 1);
  const auto record = Json::parse(line, nullptr, false);
  ASSERT_TRUE(record.is_object()) << outcome.out << outcome.err;
  const auto metric = [&](const char* name) {
    for (const auto& one : record["metrics"]) {
      if (one["name"] == name) return one["value"].get<double>();
    }
    return -1.0;
  };
  EXPECT_EQ(metric("completed"), fault.completed) << outcome.err;
  EXPECT_EQ(metric("failed"), fault.failed) << outcome.err;
  EXPECT_EQ(metric("empty_replies"), fault.empty) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(fault.said));
}

INSTANTIATE_TEST_SUITE_P(
    EachKind, LoadFaults,
    testing::Values(Fault{"reset", 0, 4, 0, "4 of 4 requests ended broken"},
                    Fault{"http500", 0, 4, 0, "4 of 4 requests ended refused"},
                    Fault{"http429", 0, 4, 0, "4 of 4 requests ended refused"},
                    Fault{"hang", 0, 4, 0, "4 of 4 requests ended silent"},
                    Fault{"utf8", 4, 0, 0, "4 of 4 requests"},
                    Fault{"merged", 4, 0, 0, "4 of 4 requests"},
                    Fault{"split", 4, 0, 0, "4 of 4 requests"},
                    Fault{"nodone", 0, 4, 0, "4 of 4 requests ended unfinished"},
                    Fault{"nousage", 4, 0, 0, "did not count the tokens of 4 replies"},
                    Fault{"empty", 0, 0, 4, "4 of 4 replies are empty"},
                    Fault{"short", 4, 0, 0, "4 shorter than asked"},
                    Fault{"long", 4, 0, 0, "4 of 4 requests"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace assay
