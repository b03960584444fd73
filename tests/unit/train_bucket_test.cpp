#include "measure/benchmarks/train_bucket.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "measure/benchmarks/train_cell.h"
#include "ranks/team/team.h"

namespace assay {
namespace {

/// Sections of 10, 20, 30 and 40 elements of 4 bytes, complete from the last one on.
TEST(TrainBucket, EndsWithTheSectionThatFillsIt) {
  const std::vector<Section> sections = {{0, 10}, {10, 30}, {30, 60}, {60, 100}};
  using Firsts = std::vector<std::size_t>;
  EXPECT_EQ(first_sections_of_buckets(sections, 4, 1), (Firsts{3, 2, 1, 0}));
  EXPECT_EQ(first_sections_of_buckets(sections, 4, 160), (Firsts{3, 1, 0}));  // 160, 200, 40
  EXPECT_EQ(first_sections_of_buckets(sections, 4, 161), (Firsts{2, 0}));     // 280, 120
  EXPECT_EQ(first_sections_of_buckets(sections, 4, 1000), (Firsts{0}));
}

TEST(TrainBucket, TheFastestIsChosenAndKeptAsText) {
  const BucketChoice usual = fastest_bucket({});
  EXPECT_EQ(usual.bytes, std::uint64_t{32} << 20);
  EXPECT_EQ(usual.times, "");
  const BucketChoice choice =
      fastest_bucket({{8 << 20, 0.0152}, {64 << 20, 0.0149}, {1 << 30, 0.2}});
  EXPECT_EQ(choice.bytes, std::uint64_t{64} << 20);
  EXPECT_EQ(choice.times, "8MiB 15.20 ms, 64MiB 14.90 ms, 1GiB 200.0 ms");
  for (const BucketChoice& one : {usual, choice}) {
    const auto read = read_bucket_choice(to_text(one));
    ASSERT_TRUE(read.has_value()) << to_text(one);
    EXPECT_EQ(read->bytes, one.bytes);
    EXPECT_EQ(read->times, one.times);
  }
  for (const char* text : {"", "64MiB", "many: 8MiB 15 ms"}) {
    EXPECT_FALSE(read_bucket_choice(text).has_value()) << text;
  }
}

Cell bucket_cell(const std::vector<AxisSetting>& settings) {
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

TEST(TrainBucket, IsSearchedWhereItMatters) {
  const auto chooses = [](const std::vector<AxisSetting>& settings) {
    return parse_train_cell(bucket_cell(settings)).value().chooses_bucket;
  };
  EXPECT_TRUE(chooses({}));
  EXPECT_TRUE(chooses({{"parallel", "zero1"}}));
  EXPECT_FALSE(chooses({{"parallel", "fsdp"}}));  // sends one section after the other
  EXPECT_FALSE(chooses({{"bucket", "64MiB"}}));
  EXPECT_FALSE(chooses({{"model", "1L2H64C97V"}}));  // smaller than any
  const auto none = parse_train_cell(bucket_cell({{"bucket", "none"}}));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message,
            "bucket=none is for one rank, not 2; allowed: auto or bytes, such as 32MiB");
}

TEST(TrainBucket, IsRememberedForWhatItDependsOn) {
  const auto members = [](const std::string& second) {
    return planned_team({{0, 0, "a", 0}, {1, 0, second, 0}});
  };
  const auto problem = [&](const std::vector<AxisSetting>& settings,
                           const std::string& second = "a") {
    return bucket_key(bucket_cell(settings), *members(second), nullptr).problem;
  };
  EXPECT_EQ(problem({}), problem({{"steps", "9"}, {"save", "x"}}));
  EXPECT_NE(problem({}), problem({{"model", "354M"}}));
  EXPECT_NE(problem({}), problem({{"parallel", "zero1"}}));
  EXPECT_NE(problem({}), problem({}, "b"));
}

}  // namespace
}  // namespace assay
