// `assay run tensor_parallel` as users run it: ranks as processes, over the libraries that CPUs
// have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/json_lines.h"
#include "e2e/process.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;

class TensorParallelRuns : public testing::Test {
 protected:
  Outcome run(std::vector<std::string> words) const {
    words.insert(words.begin(), {"run", "tensor_parallel"});
    words.insert(words.end(), {"--telemetry", "off", "--json", "--device", "cpu", "--budget", "20s",
                               "--out", (folder_.path() / "results").string()});
    return assay_run(words);
  }
  std::vector<Json> records(std::vector<std::string> words) const {
    const Outcome outcome = run(std::move(words));
    std::vector<Json> found;
    for (Json& json : json_lines(outcome.out)) {
      if (json.contains("status")) found.push_back(std::move(json));
    }
    EXPECT_FALSE(found.empty()) << outcome.err;
    for (const Json& record : found) EXPECT_EQ(record["status"], "passed") << record["reason"];
    return found;
  }
  static double metric(const Json& record, const std::string& name) {
    for (const Json& one : record["metrics"]) {
      if (one["name"] == name) return one["value"].get<double>();
    }
    return -1;
  }

  const TemporaryFolder folder_;
};

TEST_F(TensorParallelRuns, OfTheToyGatherWhatRanksHave) {
  for (const char* const library : {"tcp", "peer"}) {
    const auto found = records({"hidden=64", "batch=48", "ranks=1,all", "--ranks", "4",
                                std::string("library=") + library});
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0]["axes"]["library"], "none");
    EXPECT_EQ(metric(found[0], "exchange_alone"), -1);
    const Json& shared = found[1];
    EXPECT_EQ(shared["axes"]["ranks"], "4");
    EXPECT_THAT(shared["verification"]["method"], HasSubstr("all of 48 rows"));
    EXPECT_EQ(metric(shared, "exchange_calls"), 1);
    EXPECT_EQ(metric(shared, "exchange_bytes"), 48 * 64 * 4);
    for (const char* const name :
         {"sample_rate", "exchange_alone", "message_time", "time_without_exchange"}) {
      EXPECT_GT(metric(shared, name), 0) << name;
    }
  }
}

TEST_F(TensorParallelRuns, OfManyRowsCompareSomeWhole) {
  const auto found = records({"hidden=2048", "batch=64", "precision=bf16", "--ranks", "2"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0]["verification"]["method"], HasSubstr("of 64 rows, each whole"));
  EXPECT_THAT(found[0]["verification"]["method"], Not(HasSubstr("all of")));
  EXPECT_GT(found[0]["verification"]["error"], 0);
}

TEST_F(TensorParallelRuns, OfADecoderAddUpWhatRanksHave) {
  for (const char* const pass : {"decode", "prompt"}) {
    const auto found = records({"model=3L4H2K16D64C96F300V", std::string("pass=") + pass, "batch=2",
                                "tokens=24", "ranks=powers", "--ranks", "4"});
    ASSERT_EQ(found.size(), 3u);
    const double rows = pass == std::string("decode") ? 2 : 2 * 24;
    for (const Json& record : found) {
      const std::string ranks = record["axes"]["ranks"];
      if (ranks == "1") continue;
      EXPECT_THAT(record["verification"]["method"], HasSubstr("all ranks bit for bit"));
      EXPECT_EQ(metric(record, "exchange_calls"), 2 * 3 + 1);
      EXPECT_EQ(metric(record, "message_bytes"), rows * 64 * 4);
      // The logits of two sequences, of a vocabulary that is a multiple of 128 on each rank.
      const double logits = 2 * 512 * 4;
      EXPECT_EQ(metric(record, "exchange_bytes"), 6 * rows * 64 * 4 + logits);
      EXPECT_LT(metric(record, "weight_memory"), metric(found[0], "weight_memory"));
    }
    EXPECT_LE(metric(found[2], "cache_memory") * 2, metric(found[0], "cache_memory"));
  }
}

TEST_F(TensorParallelRuns, OfQuantizedMatricesReadFewerBytes) {
  const auto found = records({"model=2L4H2K16D128C128F300V", "batch=1", "tokens=24",
                              "quantization=none,int8", "--ranks", "2"});
  ASSERT_EQ(found.size(), 2u);
  const auto bytes = [](const Json& record) { return record["work"]["bytes"].get<double>(); };
  EXPECT_LT(bytes(found[1]), 0.4 * bytes(found[0]));
  EXPECT_EQ(found[1]["notes"]["codes"], "i8");
}

TEST_F(TensorParallelRuns, OfACacheOfCodesHoldFewerBytes) {
  for (const char* const pass : {"decode", "prompt"}) {
    const auto found = records({"model=2L4H2K64D128C128F300V", std::string("pass=") + pass,
                                "batch=2", "tokens=24", "cache=auto,fp8", "--ranks", "2"});
    ASSERT_EQ(found.size(), 2u);
    EXPECT_FALSE(found[0]["axes"].contains("cache"));
    EXPECT_EQ(found[1]["axes"]["cache"], "fp8");
    EXPECT_THAT(found[1]["notes"]["cache"].get<std::string>(), HasSubstr("e4m3"));
    EXPECT_THAT(found[1]["verification"]["method"], HasSubstr("all ranks bit for bit"));
    // A head of 64 codes and a factor of 4 bytes, where f32 takes 256 bytes.
    EXPECT_EQ(metric(found[1], "cache_memory") * 256, metric(found[0], "cache_memory") * 68);
  }
}

TEST_F(TensorParallelRuns, SayWhatRanksNeedBeforeTheyStart) {
  const auto needed = [&](const char* ranks) {
    const Outcome outcome = run({"model=llama3-70b", "--dry-run", "precision=bf16",
                                 std::string("ranks=") + ranks, "--ranks", "8"});
    return outcome.out + outcome.err;
  };
  EXPECT_THAT(needed("8"), HasSubstr("of memory on each rank: weights 18.2 GiB"));
  EXPECT_THAT(needed("3"), HasSubstr("3 ranks: 64 heads cannot be dealt out"));
}

TEST_F(TensorParallelRuns, RefuseWhatRanksCannotShare) {
  const auto refused = [&](std::vector<std::string> words) {
    const Outcome outcome = run(std::move(words));
    EXPECT_NE(outcome.status, 0);
    return outcome.out + outcome.err;
  };
  EXPECT_THAT(refused({"hidden=72", "--ranks", "2"}), HasSubstr("multiples of 8 for each"));
  EXPECT_THAT(refused({"ranks=3", "--ranks", "2", "hidden=96"}),
              HasSubstr("ranks=3 of a team of 2"));
  for (const char* const codes : {"cache=fp8", "quantization=int8"}) {
    EXPECT_THAT(refused({codes, "hidden=96", "--ranks", "2"}),
                HasSubstr("model=toy has neither codes nor a cache"));
  }
}

}  // namespace
}  // namespace assay
