#include "results/record/cost.h"

#include <gtest/gtest.h>

#include <limits>

#include "judge/compare/costs_beside.h"

namespace assay {
namespace {

Record record_with(std::vector<std::pair<std::string, std::string>> axes,
                   std::vector<Metric> metrics) {
  Record record;
  record.run = "r";
  record.cell = Cell("train", std::move(axes));
  record.status = RecordStatus::passed;
  record.metrics = std::move(metrics);
  return record;
}

std::map<std::string, double> costs(const Record& record, const Price& price) {
  std::map<std::string, double> values;
  for (const Metric& cost : costs_of(record, price)) {
    EXPECT_EQ(cost.unit, "$");
    EXPECT_EQ(cost.better, Better::neither);
    values[cost.name] = cost.value;
  }
  return values;
}

/// 1000 tokens/s are 3.6 million an hour, so 3.60 an hour is 1 a million.
TEST(Cost, IsThePriceOfTheTimeThatAMillionTokensTake) {
  EXPECT_DOUBLE_EQ(cost_per_million_tokens(3.6, 1, 1000), 1);
  EXPECT_DOUBLE_EQ(cost_per_million_tokens(3.6, 8, 1000), 8);
  EXPECT_DOUBLE_EQ(cost_per_million_tokens(1.8, 1, 4000), 0.125);
}

TEST(Cost, FollowsFromTheRateAndTheDevicesOfARecord) {
  const Metric rate = {"token_rate", 1000, "tokens/s", Better::higher, {}};
  const Metric output = {"output_throughput", 500, "tokens/s", Better::higher, {}};
  using Costs = std::map<std::string, double>;
  EXPECT_EQ(costs(record_with({}, {rate}), {3.6}), (Costs{{"cost_per_million_tokens", 1}}));
  EXPECT_EQ(costs(record_with({{"ranks", "4"}}, {rate}), {3.6, 8}),
            (Costs{{"cost_per_million_tokens", 4}}));
  EXPECT_EQ(costs(record_with({{"tp", "2"}}, {output}), {3.6}),
            (Costs{{"cost_per_million_output_tokens", 4}}));
  EXPECT_EQ(costs(record_with({}, {output}), {3.6, 8}),
            (Costs{{"cost_per_million_output_tokens", 16}}));
  Record ranks = record_with({}, {rate});
  ranks.ranks.resize(2);
  EXPECT_EQ(costs(ranks, {3.6, 8}), (Costs{{"cost_per_million_tokens", 2}}));
  Record measured = record_with({}, {});
  measured.value = Value{Quantity::token_rate, 2000, {}, {}, {}};
  EXPECT_EQ(costs(measured, {3.6}), (Costs{{"cost_per_million_tokens", 0.5}}));
}

TEST(Cost, HasNoneWithoutAValidRate) {
  Metric rate = {"token_rate", 1000, "tokens/s", Better::higher, {}};
  Record failed = record_with({}, {rate});
  failed.status = RecordStatus::failed;
  EXPECT_TRUE(costs(failed, {3.6}).empty());
  EXPECT_TRUE(costs(record_with({}, {{"token_rate", 0, "tokens/s", {}, {}}}), {3.6}).empty());
  rate.is_void = true;
  EXPECT_TRUE(costs(record_with({}, {rate}), {3.6}).empty());
  EXPECT_TRUE(costs(record_with({}, {{"bandwidth", 5, "bytes/s", {}, {}}}), {3.6}).empty());
}

TEST(Cost, KnowsARunWhoseStepsAreKnown) {
  const Metric step = {"step_time", 2, "s", Better::neither, {}};
  EXPECT_EQ(costs(record_with({{"steps", "900"}, {"ranks", "8"}}, {step}), {2.5}).at("cost_of_run"),
            10);
  EXPECT_TRUE(costs(record_with({{"steps", "auto"}}, {step}), {2.5}).empty());
  const Metric whole = {"time_to_quality", 7200, "s", Better::lower, {}};
  EXPECT_EQ(costs(record_with({}, {whole}), {2.5, 8}).at("cost_of_run"), 40);
}

/// Costs are not judged, so they have no series.
TEST(Cost, StandsBesideResultsThatAreCompared) {
  const Record record =
      record_with({{"ranks", "2"}}, {{"token_rate", 1000, "tokens/s", Better::higher, {}}});
  ResultSet set = result_set_of({record}, "a");
  const std::size_t series = set.series.size();
  add_costs(set, Price{3.6, 1});
  EXPECT_EQ(set.series.size(), series);
  const auto cost = set.beside.find({record.cell.id(), "cost_per_million_tokens"});
  ASSERT_NE(cost, set.beside.end());
  EXPECT_EQ(cost->second.unit, "$");
  EXPECT_EQ(cost->second.values, std::vector<double>{2});
}

TEST(Cost, OfARateOfZeroIsNoFigure) {
  const Record record =
      record_with({{"ranks", "2"}}, {{"token_rate", 0, "tokens/s", Better::higher, {}}});
  ResultSet set = result_set_of({record}, "a");
  add_costs(set, Price{3.6, 1});
  EXPECT_FALSE(set.beside.contains({record.cell.id(), "cost_per_million_tokens"}));
}

TEST(Cost, PricesAreNumbersAboveZero) {
  const auto price = parse_price("2.50");
  ASSERT_TRUE(price.ok());
  EXPECT_EQ(price->per_hour, 2.5);
  EXPECT_EQ(price->devices, 1);
  const auto eight = parse_price("2.50x8");
  ASSERT_TRUE(eight.ok());
  EXPECT_EQ(eight->per_hour, 2.5);
  EXPECT_EQ(eight->devices, 8);
  for (const char* text :
       {"", "0", "-1", "nan", "inf", "2,50", "$2", "2x", "2x0", "2x1.5", "x8", "2x0x8"}) {
    const auto wrong = parse_price(text);
    ASSERT_FALSE(wrong.ok()) << text;
    EXPECT_EQ(wrong.error().message, "--price \"" + std::string(text) +
                                         "\" is not allowed; allowed: a number above 0 per GPU and "
                                         "hour, e.g. 2.50, or 2.50x8 for a server with 8 GPUs");
  }
}

}  // namespace
}  // namespace assay
