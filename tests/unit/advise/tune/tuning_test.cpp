#include "advise/tune/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// Tunes a made-up program whose speed depends on one parameter, a, which is usually 1.
class Tuning : public testing::Test {
 protected:
  using Speed = std::function<TrialScore(const std::string& a, std::string_view part)>;

  Result<TuningResult> tune_with(const Speed& speed,
                                 TuningRules rules = {
                                     .runs = 40, .least_pairs = 6, .most_pairs = 6}) {
    auto log = TrialLog::open(folder_.path() / "tuning", "name: x\n", Json::object());
    if (!log.ok()) return log.error();
    std::string part;
    TrialKind kind;
    kind.cell = [](const Settings& settings) {
      return Cell("program", {{"a", settings.front().value}});
    };
    kind.measure = [&](const Settings&, const Record& blank,
                       double most_seconds) -> Result<std::vector<Record>> {
      most_seconds_ = most_seconds;
      if (++measured_ == stop_at_) return Error{ErrorKind::interrupted, "stopped"};
      Record record = blank;
      record.status = RecordStatus::passed;
      record.metrics.push_back({"time", 1, "s", Better::lower, ""});
      record.source = Source{"program", "", "program", 0};
      return std::vector{record};
    };
    kind.score = [&](const std::vector<Record>& records) {
      return speed(std::string(records.front().cell.text("a")),
                   is_trial(records.front()) ? search_part : proof_part);
    };
    TuningEvents events;
    events.begins = [](const TuningState&) {};
    events.ended = [&](const TuningState& state, const Trial&, bool is_best) {
      if (is_best) bests_.push_back(text_of(state.settings));
    };
    return tune(space_, rules, kind, *log, events);
  }

  static TrialScore of(double speed) { return {std::log(speed), ""}; }

  const ParameterSpace space_ = *ParameterSpace::make({{"a", {"1", "2", "3", "4"}, 0}}, {});
  const TemporaryFolder folder_;
  int measured_ = 0, stop_at_ = -1;
  double most_seconds_ = 0;
  std::vector<std::string> bests_;
};

TEST_F(Tuning, FindsTheBestAndProvesIt) {
  const auto result = tune_with([](const std::string& a, std::string_view) {
    return a == "4" ? TrialScore{std::nullopt, "it crashed"} : of(a == "3" ? 2 : 1);
  });
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_TRUE(result->challenger(space_.usual()));
  EXPECT_EQ(text_of(space_.settings_of(*result->challenger(space_.usual()))), "a=3");
  EXPECT_EQ(result->tried.size(), 4u);
  EXPECT_EQ(result->tried.at(3).score.problem, "it crashed");
  ASSERT_TRUE(result->proof);
  EXPECT_EQ(result->proof->pairs.size(), 6u);
  EXPECT_NEAR(result->proof->speed.ratio, 2, 1e-12);
  EXPECT_TRUE(result->proof->better);
  EXPECT_TRUE(result->proof->decided());
  EXPECT_EQ(bests_, (std::vector<std::string>{"a=1", "a=3"}));
  // A slower setting is not waited for.
  EXPECT_LT(most_seconds_, 60);
}

TEST_F(Tuning, GoesOnWhereItWasStopped) {
  const Speed speed = [](const std::string& a, std::string_view) { return of(std::stod(a)); };
  for (stop_at_ = 3; stop_at_ <= 12; stop_at_ += 3) {
    const auto stopped = tune_with(speed);
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().kind, ErrorKind::interrupted);
  }
  stop_at_ = -1;
  const auto result = tune_with(speed);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(text_of(space_.settings_of(*result->challenger(space_.usual()))), "a=4");
  // Four were stopped; all others counted, once each.
  EXPECT_EQ(measured_ - 4, static_cast<int>(result->runs) + 2 * 6);
  const int before = measured_;
  EXPECT_TRUE(tune_with(speed).ok());
  EXPECT_EQ(measured_, before);
}

TEST_F(Tuning, WithoutTheUsualSettingNothingIsCompared) {
  const auto result = tune_with([](const std::string& a, std::string_view) {
    return a == "1" ? TrialScore{std::nullopt, "no such file"} : of(1);
  });
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(result.error().message, "nothing was measured with the default values: no such file");
  EXPECT_EQ(measured_, 1);
}

TEST_F(Tuning, ALimitThatOnlyTheBestKeepsIsAProof) {
  const Speed speed = [](const std::string& a, std::string_view) {
    return a == "2" ? of(1) : TrialScore{std::log(2), "too slow"};
  };
  const auto result = tune_with(speed);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(text_of(space_.settings_of(*result->challenger(space_.usual()))), "a=2");
  EXPECT_EQ(result->proof->usual_counts, 0u);
  EXPECT_NEAR(result->proof->speed.ratio, 0.5, 1e-12);
  EXPECT_TRUE(result->proof->better);
}

TEST_F(Tuning, ALimitThatTheUsualSettingKeepsNowAndThenIsNone) {
  int runs = 0;
  const auto result = tune_with([&](const std::string& a, std::string_view part) {
    if (a == "2") return of(1);
    const bool kept = part == proof_part && ++runs % 2 == 0;
    return TrialScore{0, kept ? "" : "too slow"};
  });
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->proof->usual_counts, 3u);
  EXPECT_FALSE(result->proof->better);
}

TEST_F(Tuning, AFailureEndsTheProof) {
  for (const char* failing : {"1", "2"}) {
    int runs = 0;
    const auto result = tune_with([&](const std::string& a, std::string_view part) {
      const bool fails = part == proof_part && a == failing && ++runs == 3;
      return fails ? TrialScore{std::nullopt, "it hung"} : of(a == "2" ? 2 : 1);
    });
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->proof->failure, std::string(failing) == "1"
                                          ? "the default setting failed: it hung"
                                          : "the setting failed: it hung");
    EXPECT_EQ(result->proof->pairs.size(), 2u);
    EXPECT_FALSE(result->proof->better);
    EXPECT_FALSE(result->proof->decided());
    std::filesystem::remove_all(folder_.path() / "tuning");
  }
}

TEST_F(Tuning, WhereNothingCountsThereIsNoBest) {
  const auto result = tune_with([](const std::string&, std::string_view) {
    return TrialScore{0, "too slow"};
  });
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_FALSE(result->challenger(space_.usual()));
  EXPECT_FALSE(result->any_counts());
  EXPECT_FALSE(result->proof);
}

/// The result of a search is no proof, also where the default was the fastest in it.
TEST_F(Tuning, WhereTheUsualSettingWinsTheNextBestMeetsIt) {
  const auto result =
      tune_with([](const std::string& a, std::string_view) { return of(1 / std::stod(a)); });
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->found.finalists.front().contender, space_.usual());
  EXPECT_EQ(text_of(space_.settings_of(*result->challenger(space_.usual()))), "a=2");
  EXPECT_NEAR(result->proof->speed.ratio, 0.5, 1e-12);
  EXPECT_TRUE(result->proof->speed.worse);
  EXPECT_FALSE(result->proof->better);
  EXPECT_TRUE(result->proof->decided());
}

TEST_F(Tuning, AFailureOfTheUsualSettingThatRanBeforeIsOneOfASetting) {
  int runs = 0;
  const auto result = tune_with([&](const std::string& a, std::string_view part) {
    const bool fails = part == search_part && a == "1" && ++runs == 2;
    return fails ? TrialScore{std::nullopt, "the port was taken"} : of(a == "1" ? 2 : 1);
  });
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(runs, 2);
  EXPECT_FALSE(result->found.finalists.back().score);
  EXPECT_TRUE(result->proof->speed.worse);
}

}  // namespace
}  // namespace assay
