#include "measure/benchmarks/train/train_scaling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/benchmarks/train/train_cell.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

CellValue scaling_value(const std::string& ranks, const std::string& scaling, double rate,
                        const std::string& model = "124M") {
  CellValue value;
  value.cell = expand_cells("train", train_axes(),
                            {{"ranks", ranks}, {"scaling", scaling}, {"model", model}})
                   .value()
                   .front();
  value.value = rate;
  value.interval95 = {rate * 0.99, rate * 1.01};
  return value;
}

/// 4 ranks at 86%: of the 14% that are missing, 9 are exchange and 5 are slower passes.
TEST(TrainScaling, SaysWhereTheRateIsLost) {
  CellValue four = scaling_value("4", "weak", 344);
  for (const auto& [name, number] : {std::pair("step_time", 2.0),
                                     {"exchange_exposed", 0.18},
                                     {"exchange_alone", 0.5},
                                     {"exchange_bus_bandwidth", 310e9},
                                     {"rank_skew", 0.03},
                                     {"rank_clock_lowest", 1.6e9},
                                     {"rank_clock_highest", 1.7e9}}) {
    four.metrics.push_back({.name = name, .value = number, .unit = "1", .text = ""});
  }
  const std::vector<CellValue> values = {scaling_value("1", "none", 100), four,
                                         scaling_value("1", "none", 7, "30M")};
  const auto conclusions = scaling_conclusions(values);
  ASSERT_EQ(conclusions.size(), 1u);
  EXPECT_EQ(conclusions[0].name, "efficiency model=124M parallel=ddp scaling=weak ranks=4");
  EXPECT_DOUBLE_EQ(conclusions[0].value, 0.86);
  EXPECT_THAT(conclusions[0].text,
              AllOf(HasSubstr("efficiency 86.0% (84.3% to 87.7%) on 4 ranks"),
                    HasSubstr("exposed communication takes 9.0% of a step, slower forward and "
                              "backward passes 5.0%"),
                    HasSubstr("500.0 ms, at 310.0 GB/s"), HasSubstr("slowest rank is 3.0% behind"),
                    HasSubstr("clocks 1.600 GHz to 1.700 GHz")));
}

/// A simulated step of 2.1 s where 2 s were measured, and a step of one rank took 1.8 s.
TEST(TrainScaling, ASimulationSaysHowFarOffItIs) {
  const auto with = [](CellValue value,
                       const std::vector<std::pair<std::string, double>>& metrics) {
    for (const auto& [name, number] : metrics) {
      value.metrics.push_back({.name = name, .value = number, .unit = "s", .text = ""});
    }
    return value;
  };
  const std::vector<CellValue> values = {
      with(scaling_value("1", "none", 100), {{"step_time", 1.8}}),
      with(scaling_value("8", "weak", 720), {{"step_time", 2.0},
                                             {"passes_slowed_by_exchange", 1.254},
                                             {"exchange_slowed_by_passes", 1.5},
                                             {"simulated_step_time_4_ranks", 1.9},
                                             {"simulated_step_time_8_ranks", 2.1},
                                             {"simulated_step_time_64_ranks", 2.4},
                                             {"simulated_step_time_1024_ranks", 3.6}})};
  const auto conclusions = scaling_conclusions(values);
  ASSERT_EQ(conclusions.size(), 2u);
  EXPECT_NEAR(conclusions[1].value, 0.05, 1e-9);
  EXPECT_THAT(conclusions[1].text, Not(HasSubstr("on 4")));
  EXPECT_THAT(conclusions[1].text,
              AllOf(HasSubstr("takes 5.0% more, if passes take 1.25 times as long during "
                              "communication, and communication 1.50 times"),
                    HasSubstr("efficiency is 75.0% on 64, 50.0% on 1024 ranks"),
                    HasSubstr("a model, not measured")));
}

/// Against as many ranks that train alone; others, and other numbers of ranks, say nothing of it.
TEST(TrainScaling, SaysWhatTheExchangeCosts) {
  CellValue two = scaling_value("2", "weak", 180), without = two,
            strong = scaling_value("2", "strong", 190);
  two.metrics = {{.name = "step_time", .value = 2.0, .unit = "s", .text = ""},
                 {.name = "exchange_exposed", .value = 0.125, .unit = "s", .text = ""}};
  without.cell = with_value(without.cell, "parallel", "none");
  without.metrics = {{.name = "step_time", .value = 1.75, .unit = "s", .text = ""}};
  strong.metrics = two.metrics;
  CellValue four = scaling_value("4", "weak", 300);
  four.metrics = two.metrics;
  CellValue sliced = two;  // updates only half of the parameters that ranks alone update
  sliced.cell = with_value(two.cell, "parallel", "zero1");
  const std::vector<CellValue> values = {without, two, strong, four, sliced};
  const auto conclusions = scaling_conclusions(values);
  ASSERT_EQ(conclusions.size(), 1u);
  EXPECT_EQ(conclusions[0].name, "exchange_costs model=124M parallel=ddp scaling=weak ranks=2");
  EXPECT_DOUBLE_EQ(conclusions[0].value, 0.25);
  EXPECT_THAT(conclusions[0].text, AllOf(HasSubstr("250.0 ms longer than without communication"),
                                         HasSubstr("125.0 ms of communication are exposed")));
}

TEST(TrainScaling, NothingWithoutOneRank) {
  const std::vector<CellValue> values = {scaling_value("2", "weak", 190),
                                         scaling_value("4", "strong", 350)};
  EXPECT_TRUE(scaling_conclusions(values).empty());
}

/// Each trains a model that no other rank knows of; what they train counts together.
TEST(TrainScaling, RanksThatTrainAloneCountTogether) {
  const auto cell = [](std::vector<AxisSetting> settings) {
    for (const auto& [axis, value] : {std::pair("ranks", "4"),
                                      {"parallel", "none"},
                                      {"batch", "8"},
                                      {"precision", "f32"},
                                      {"rate", "1e-3"},
                                      {"sums", "none"},
                                      {"bucket", "none"},
                                      {"library", "none"}}) {
      settings.push_back({axis, value});
    }
    return parse_train_cell(expand_cells("train", train_axes(), settings).value().front());
  };
  for (const char* scaling : {"weak", "strong"}) {
    const double samples = scaling == std::string_view("weak") ? 32 : 8;
    const auto gpt = cell({{"model", "30M"}, {"sequence", "16"}, {"scaling", scaling}});
    const auto mlp = cell({{"model", "8-16-8"}, {"sequence", "1"}, {"scaling", scaling}});
    for (const auto* const parsed : {&gpt, &mlp}) {
      ASSERT_TRUE(parsed->ok()) << parsed->error().message;
      const TrainModel& model = *(*parsed)->model;
      EXPECT_EQ(model.parallel().ranks, 1);
      EXPECT_EQ(model.parallel().replicas, 4);
      EXPECT_EQ(model.samples(), samples);
      EXPECT_EQ(model.work().ranks, 4);
      EXPECT_EQ((*parsed)->ranks, 4);
    }
    EXPECT_EQ(gpt->model->work().tokens, samples * 16);
    EXPECT_EQ(mlp->model->work().samples, samples);
  }
  const auto saved = cell({{"model", "30M"}, {"sequence", "16"}, {"save", "one"}});
  ASSERT_FALSE(saved.ok());
  EXPECT_THAT(saved.error().message, HasSubstr("written by 4 ranks that train alone"));
}

TEST(TrainScaling, AStrongBatchIsCut) {
  const auto cell = [](const std::string& batch, const std::string& ranks) {
    Cell made = expand_cells("train", train_axes(),
                             {{"ranks", ranks},
                              {"scaling", "strong"},
                              {"batch", batch},
                              {"model", "30M"},
                              {"sequence", "16"},
                              {"precision", "f32"},
                              {"rate", "1e-3"},
                              {"sums", "f32"},
                              {"library", "tcp"}})
                    .value()
                    .front();
    return parse_train_cell(made);
  };
  EXPECT_EQ(cell("8", "4")->model->samples(), 8);
  EXPECT_EQ(cell("8", "1")->model->samples(), 8);
  const auto uneven = cell("8", "3");
  ASSERT_FALSE(uneven.ok());
  EXPECT_THAT(uneven.error().message, HasSubstr("batch=8 is not a multiple of ranks=3"));
}

}  // namespace
}  // namespace assay
