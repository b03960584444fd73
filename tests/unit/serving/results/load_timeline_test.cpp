#include "serving/results/load_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "judge/trace/trace_report.h"
#include "serving/server/step_log.h"

namespace assay {
namespace {

using testing::HasSubstr;

constexpr std::int64_t second = 1'000'000'000, epoch = 1'800'000'000 * second;

std::vector<RequestLog> two_requests() {
  RequestLog one, held;
  one.index = 0;
  one.due = one.sent = 0.5;
  one.first = 1;
  one.gaps = {0.25F, 0.25F};
  one.last = 1.5;
  one.end = 1.5;
  one.prompt_tokens = 8;
  one.output_tokens = 3;
  one.reply_end = ReplyEnd::complete;
  held = one;
  held.index = 1;
  held.due = 0.75;
  held.sent = 1.25;
  held.first = 1.75;
  held.end = held.last = 2.25;
  return {one, held};
}

/// Start and end of the named events, in ms.
std::multimap<std::string, std::pair<double, double>> ranges_of(const Timeline& timeline) {
  std::multimap<std::string, std::pair<double, double>> ranges;
  for (const TraceEvent& event : timeline.events()) {
    ranges.emplace(timeline.text(event.name), std::pair(static_cast<double>(event.start) * 1e-6,
                                                        static_cast<double>(event.end()) * 1e-6));
  }
  return ranges;
}

TEST(LoadTimeline, ARequestHasItsWaitsAndTokens) {
  LoadTimeline load(epoch);
  load.add_requests(two_requests(), epoch + second, "2 in flight");
  const Timeline timeline = std::move(load).finish();
  const auto ranges = ranges_of(timeline);
  using Range = std::pair<double, double>;
  EXPECT_EQ(ranges.find("2 in flight")->second, Range(1000, 3250));
  EXPECT_EQ(ranges.find("request 0: 8 tokens in, 3 out")->second, Range(1500, 2500));
  EXPECT_EQ(ranges.find("request 1: 8 tokens in, 3 out")->second, Range(1750, 3250));
  EXPECT_EQ(ranges.find("held back")->second, Range(1750, 2250));
  EXPECT_EQ(ranges.count("until the first token"), 2u);
  EXPECT_EQ(ranges.count("token"), 4u);
  ASSERT_EQ(timeline.counters.size(), 1u);
  double most = 0;
  for (const auto& [time, value] : timeline.counters[0].values) most = std::max(most, value);
  EXPECT_EQ(most, 2);
  EXPECT_EQ(timeline.counters[0].values.back().second, 0);
}

server::LoggedStep step_at(std::int64_t begin, std::uint64_t prompt, std::uint64_t output) {
  return {begin, begin + 1000, begin + 9000, begin + 10'000, prompt, output, prompt + output, 0};
}

TEST(LoadTimeline, StepsAreWorkOfTheServersGpu) {
  server::StepLog log;
  log.add(step_at(epoch - 20'000, 8, 0));  // before the load
  log.add(step_at(epoch, 8, 0));
  log.add(step_at(epoch + 30'000, 0, 2));
  LoadTimeline load(epoch);
  const Status added = load.add_steps(log.json(), 0, "http://a:8000", epoch);
  ASSERT_TRUE(added.ok()) << added.error().message;
  const Timeline timeline = std::move(load).finish();
  const auto ranges = ranges_of(timeline);
  EXPECT_EQ(ranges.count("step of prompts"), 1u);
  EXPECT_EQ(ranges.count("step of tokens"), 1u);
  EXPECT_EQ(ranges.count("schedule"), 2u);
  const TraceReport report = report_trace(TraceIndex(timeline));
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_EQ(report.devices[0].times.span, 38'000);
  EXPECT_EQ(report.devices[0].times.busy, 16'000);
}

TEST(LoadTimeline, AnotherProgramsPageIsAnError) {
  for (const std::string_view page :
       {"", "{", "[]", "{}", R"({"steps":1})", R"({"steps":[[1,2,3]]})",
        R"({"steps":[[1,2,3,4,5,6,7,-8]]})", R"({"steps":[[4,3,2,1,0,0,0,0]]})",
        R"({"steps":[["1",2,3,4,5,6,7,8]]})",
        R"({"steps":[[1,2,3,4,5,6,7,99999999999999999999]]})"}) {
    LoadTimeline load(epoch);
    const Status added = load.add_steps(page, 0, "http://a:8000", 0);
    ASSERT_FALSE(added.ok()) << page;
    EXPECT_THAT(added.error().message, HasSubstr("http://a:8000/steps")) << page;
  }
}

TEST(StepLog, KeepsTheLastSteps) {
  server::StepLog log;
  const auto most = static_cast<std::int64_t>(server::StepLog::most_steps);
  for (std::int64_t i = 0; i < most + 3; ++i) log.add(step_at(i, 1, 0));
  const std::string page = log.json();
  EXPECT_THAT(page.substr(0, 60), HasSubstr("\"dropped\":3"));
  EXPECT_THAT(page, HasSubstr("\"steps\":[[3,"));
  EXPECT_NE(page.find("[" + std::to_string(most + 2) + ","), page.npos);
}

}  // namespace
}  // namespace assay
