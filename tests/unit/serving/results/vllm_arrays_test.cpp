// The arrays of vLLM's own results in ../shared/data, put through this program's definitions: they
// give the means, deviations and percentiles that vLLM stored.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/json.h"
#include "core/read_file.h"
#include "serving/results/analysis.h"

namespace assay {
namespace {

const std::string h100_file = ASSAY_SOURCE_DIR
    "/../shared/data/vllm/h100x8_nvidia-vllm-16.0qps-Llama-3.1-405B-FP8-20241109-150547.json";

class ServingVllmArrays : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(h100_file)) GTEST_SKIP() << h100_file << " is not there";
    stored = Json::parse(read_bytes(h100_file, 1 << 28).text);
  }

  /// To a relative deviation of `tolerance`.
  void expect_stored(const Latency& latency, const std::string& key, double tolerance) const {
    const auto expect = [&](const std::string& statistic, double seconds) {
      const double milliseconds = stored.at(statistic + "_" + key + "_ms").get<double>();
      EXPECT_LT(std::abs(seconds * 1e3 / milliseconds - 1), tolerance) << statistic << " " << key;
    };
    expect("mean", latency.mean);
    expect("median", latency.median);
    expect("std", latency.deviation);
    expect("p99", latency.percentile(99)->value);
  }

  Json stored;
  const std::vector<double> percents = {99};
};

TEST_F(ServingVllmArrays, GiveTheStoredStatistics) {
  expect_stored(latency_of(stored["ttfts"].get<std::vector<double>>(), percents), "ttft", 1e-9);
  std::vector<double> gaps;
  for (const Json& reply : stored["itls"]) {
    for (const Json& gap : reply) gaps.push_back(gap.get<double>());
  }
  expect_stored(latency_of(gaps, percents), "itl", 1e-9);
}

// The arrays become logs of requests, whose gaps have the 24 bits of a float. In 2024 vLLM
// counted replies without a token as successes with a TTFT of 0; here they have one event.
TEST_F(ServingVllmArrays, AsLogsGiveTheStoredResult) {
  std::vector<RequestLog> logs;
  for (std::size_t i = 0; i < stored["ttfts"].size(); ++i) {
    RequestLog log;
    log.index = i;
    log.sent = 0;
    log.first = log.last = stored["ttfts"][i].get<double>();
    for (const Json& gap : stored["itls"][i]) {
      log.gaps.push_back(gap.get<float>());
      log.last += gap.get<double>();
    }
    log.end = stored["duration"].get<double>();
    log.prompt_tokens = stored["input_lens"][i].get<std::uint64_t>();
    log.output_tokens = stored["output_lens"][i].get<std::uint64_t>();
    log.reply_end = ReplyEnd::complete;
    logs.push_back(log);
  }
  const ServingResult result = analyse(logs, {});
  expect_stored(result.ttft, "ttft", 1e-9);
  expect_stored(result.itl, "itl", 1e-7);
  const auto expect = [&](const char* key, double value) {
    EXPECT_LT(std::abs(value / stored[key].get<double>() - 1), 1e-9) << key;
  };
  expect("duration", result.duration);
  expect("request_throughput", result.request_throughput);
  expect("output_throughput", result.output_throughput);
  expect("total_token_throughput", result.total_throughput);
  EXPECT_EQ(result.counts.completed, stored["completed"].get<std::size_t>());
}

}  // namespace
}  // namespace assay
