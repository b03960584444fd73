#include "measure/benchmarks/train/train_choice.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "measure/benchmarks/train/train_cell.h"
#include "ranks/team/team.h"

namespace assay {
namespace {

/// Sections of 10, 20, 30 and 40 elements of 4 bytes, complete from the last one on.
TEST(TrainChoice, EndsWithTheSectionThatFillsIt) {
  const std::vector<Section> sections = {{0, 10}, {10, 30}, {30, 60}, {60, 100}};
  using Firsts = std::vector<std::size_t>;
  EXPECT_EQ(first_sections_of_buckets(sections, 4, 1), (Firsts{3, 2, 1, 0}));
  EXPECT_EQ(first_sections_of_buckets(sections, 4, 160), (Firsts{3, 1, 0}));  // 160, 200, 40
  EXPECT_EQ(first_sections_of_buckets(sections, 4, 161), (Firsts{2, 0}));     // 280, 120
  EXPECT_EQ(first_sections_of_buckets(sections, 4, 1000), (Firsts{0}));
}

/// What sends the same as one before it is left out, wherever it stands.
TEST(TrainChoice, BucketsThatSendTheSameAreOne) {
  const std::vector<Section> sections = {{0, 10}, {10, 30}, {30, 60}, {60, 100}};
  using Buckets = std::vector<std::uint64_t>;
  EXPECT_EQ(different_buckets({160, 1, 161, 2, 1000, 150}, sections, 4),
            (Buckets{160, 1, 161, 1000}));
  EXPECT_EQ(different_buckets({1, 160, 2, 155}, sections, 4), (Buckets{1, 160}));
  EXPECT_EQ(different_buckets({1000, 2000}, sections, 4), (Buckets{1000}));
}

TEST(TrainChoice, TheUsualIsKeptUnlessAnotherIsSurelyFaster) {
  const auto chosen = [](const std::vector<double>& usual, const std::vector<double>& other) {
    return fastest_exchange({{"nccl", 1, usual}, {"nccl", 2, other}, {"peer", 3, {100}}}).bucket;
  };
  EXPECT_EQ(chosen({10, 10, 10}, {9.95, 9.95, 9.95}), 1u);  // by half a percent
  EXPECT_EQ(chosen({10, 10, 10}, {9.8, 9.8, 9.8}), 2u);
  EXPECT_EQ(chosen({10, 10, 10}, {9.5, 9.8, 10}), 1u);  // 9.65 to 9.9
  EXPECT_EQ(chosen({9.5, 10, 10.5}, {9.8, 9.8, 9.8}), 1u);
  EXPECT_EQ(chosen({9.5, 10, 10.5}, {9.4, 9.4, 9.4}), 2u);
}

TEST(TrainChoice, TheFastestIsChosenAndKeptAsText) {
  const ExchangeChoice choice = fastest_exchange(
      {{"nccl", 8 << 20, {0.0152}}, {"peer", 64 << 20, {0.0149}}, {"peer", 1 << 30, {0.2}}});
  EXPECT_EQ(choice.library, "peer");
  EXPECT_EQ(choice.bucket, std::uint64_t{64} << 20);
  EXPECT_EQ(choice.times, "nccl 8MiB 15.20 ms, peer 64MiB 14.90 ms, peer 1GiB 200.0 ms");
  const auto read = read_exchange_choice(to_text(choice));
  ASSERT_TRUE(read.has_value()) << to_text(choice);
  EXPECT_EQ(read->library, choice.library);
  EXPECT_EQ(read->bucket, choice.bucket);
  EXPECT_EQ(read->times, choice.times);
  for (const char* text : {"", "64MiB", "nccl many: nccl 8MiB 15 ms", " 64MiB: ", "nccl: 64MiB"}) {
    EXPECT_FALSE(read_exchange_choice(text).has_value()) << text;
  }
}

Cell choice_cell(const std::vector<AxisSetting>& settings) {
  std::vector<AxisSetting> all = {{"model", "124M"},      {"batch", "2"},     {"sequence", "16"},
                                  {"precision", "bf16"},  {"sums", "bf16"},   {"rate", "1e-3"},
                                  {"attention", "plain"}, {"library", "tcp"}, {"ranks", "2"}};
  for (const auto& [axis, value] : settings) {
    const auto known =
        std::ranges::find(all, axis, [](const AxisSetting& one) { return one.axis; });
    if (known != all.end()) {
      known->values = value;
    } else {
      all.push_back({axis, value});
    }
  }
  return expand_cells("train", train_axes(), all).value().front();
}

TEST(TrainChoice, IsSearchedWhereItMatters) {
  const auto chooses = [](const std::vector<AxisSetting>& settings) {
    return parse_train_cell(choice_cell(settings)).value().buckets.size() > 1;
  };
  EXPECT_TRUE(chooses({}));
  EXPECT_TRUE(chooses({{"parallel", "zero1"}}));
  EXPECT_FALSE(chooses({{"parallel", "fsdp"}}));  // sends one section after the other
  EXPECT_FALSE(chooses({{"bucket", "64MiB"}}));
  EXPECT_FALSE(chooses({{"model", "1L2H64C97V"}}));  // smaller than any
  EXPECT_FALSE(parse_train_cell(choice_cell({})).value().chooses_library);
  EXPECT_TRUE(parse_train_cell(choice_cell({{"library", "fastest"}})).value().chooses_library);
  const auto none = parse_train_cell(choice_cell({{"bucket", "none"}}));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(
      none.error().message,
      "bucket=none is for ranks that train alone, not for parallel=ddp; allowed: auto or bytes, "
      "such as 32MiB");
}

TEST(TrainChoice, IsRememberedForWhatItDependsOn) {
  const auto members = [](const std::string& second) {
    return planned_team({{0, 0, "a", 0}, {1, 0, second, 0}});
  };
  const auto problem = [&](const std::vector<AxisSetting>& settings,
                           const std::string& second = "a", const std::string& uuid = "GPU-1") {
    DeviceFacts facts;
    facts.uuid = uuid;
    return exchange_problem(choice_cell(settings), facts, *members(second)).value();
  };
  EXPECT_EQ(problem({}), problem({{"steps", "9"}, {"save", "x"}}));
  EXPECT_NE(problem({}), problem({{"model", "354M"}}));
  EXPECT_NE(problem({}), problem({{"parallel", "zero1"}}));
  EXPECT_NE(problem({}), problem({{"library", "fastest"}}));
  EXPECT_NE(problem({}), problem({{"data", "/a"}, {"tokens", "u16"}}));
  EXPECT_NE(problem({}), problem({}, "b"));
  EXPECT_NE(problem({}), problem({}, "a", "GPU-2"));
  const std::string usual = problem({});
  ASSERT_EQ(::setenv("NCCL_MAX_CTAS", "3", 1), 0);
  const std::string with_variable = problem({});
  ::unsetenv("NCCL_MAX_CTAS");
  EXPECT_NE(with_variable, usual);
  EXPECT_EQ(problem({}), usual);
}

}  // namespace
}  // namespace assay
