#include "serving/results/analysis.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "unit/serving_logs.h"

namespace assay {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Two replies, one empty, one refused, worked out by hand.
std::vector<RequestLog> by_hand() {
  std::vector<RequestLog> logs = {reply(0, 1, 0.5, {0.25f, 0.75f}), reply(1, 2, 1, {0.5f})};
  RequestLog empty = failure(2, 2.5, 3, ReplyEnd::complete);
  logs.push_back(empty);
  logs.push_back(failure(3, 3, 5, ReplyEnd::refused));
  return logs;
}

TEST(ServingAnalysis, VllmDefinitionsByHand) {
  const ServingResult result = analyse(by_hand(), {});
  EXPECT_EQ(result.counts.requests, 4u);
  EXPECT_EQ(result.counts.completed, 2u);
  EXPECT_EQ(result.counts.empty, 1u);
  EXPECT_EQ(result.counts.failed, 1u);
  EXPECT_EQ(result.counts.ended(ReplyEnd::refused), 1u);
  EXPECT_EQ(result.counts.ended(ReplyEnd::complete), 3u);
  EXPECT_EQ(result.duration, 4);  // from 1, the first dispatch, to 5, the refusal
  EXPECT_EQ(result.request_throughput, 0.5);
  EXPECT_EQ(result.output_throughput, 5.0 / 4);
  EXPECT_EQ(result.total_throughput, 25.0 / 4);
  EXPECT_EQ(result.ttft.mean, 0.75);
  EXPECT_EQ(result.ttft.median, 0.75);
  EXPECT_EQ(result.ttft.deviation, 0.25);
  EXPECT_DOUBLE_EQ(result.ttft.percentile(99)->value, 0.995);
  EXPECT_EQ(result.tpot.n, 2u);
  EXPECT_EQ(result.tpot.mean, 0.5);  // 1/2 and 0.5/1
  EXPECT_EQ(result.itl.n, 3u);       // pooled
  EXPECT_EQ(result.itl.mean, 0.5);   // 0.25 0.75 0.5
  EXPECT_EQ(result.e2el.mean, 1.5);  // 1.5 and 1.5
  EXPECT_EQ(result.e2el.deviation, 0);
  EXPECT_EQ(result.longest_stall.maximum, 0.75);
  EXPECT_EQ(result.longest_stall.median, 0.625);
  EXPECT_EQ(result.most_output_per_second, 2);  // 1.5 1.75, 2.5, 3 3.5: seconds from 1
  EXPECT_EQ(result.most_concurrent, 2u);
  EXPECT_FALSE(result.goodput);
  EXPECT_FALSE(result.itl_per_token);
  EXPECT_EQ(result.identity_error, 0);
}

TEST(ServingAnalysis, OrderOfLogsDoesNotMatter) {
  Random random(5);
  std::vector<RequestLog> logs;
  for (std::size_t i = 0; i < 60; ++i) {
    const auto gap = static_cast<float>(random.uniform());
    logs.push_back(reply(i, static_cast<double>(i), random.uniform(), {gap, 2 * gap}));
  }
  const ServingResult sorted = analyse(logs, {});
  for (std::size_t i = 0; i < 60; i += 3) std::swap(logs[i], logs[(i * 7) % 60]);
  const ServingResult mixed = analyse(logs, {});
  EXPECT_EQ(sorted.itl.mean95->low, mixed.itl.mean95->low);
  EXPECT_EQ(sorted.ttft.mean95->high, mixed.ttft.mean95->high);
  EXPECT_EQ(sorted.duration, mixed.duration);
}

TEST(ServingAnalysis, SecondsOfOutputBeginWithTheFirstDispatch) {
  // Events at 0.75, 1.25, 1.375, 1.5 and 1.625: three in the second that begins at 0.5.
  const std::vector<RequestLog> logs = {reply(0, 0.5, 0.25, {0.5f, 0.125f, 0.125f, 0.125f})};
  EXPECT_EQ(analyse(logs, {}).most_output_per_second, 3);
}

TEST(ServingAnalysis, NothingIsNoResult) {
  const ServingResult result = analyse({}, {});
  EXPECT_EQ(result.duration, 0);
  EXPECT_EQ(result.request_throughput, 0);
  EXPECT_EQ(result.ttft.percentile(99)->value, 0);
  EXPECT_THAT(result.verdict.void_reasons(), ElementsAre("no reply has a token"));
}

TEST(ServingAnalysis, GoodputCountsRepliesThatKeepEveryLimit) {
  AnalysisSettings settings;
  settings.goodput.ttft = 0.5;
  EXPECT_EQ(*analyse(by_hand(), settings).goodput, 0.25);
  settings.goodput.e2el = 1.4;
  EXPECT_EQ(*analyse(by_hand(), settings).goodput, 0);
  // A reply of one token has a TPOT of 0, which meets any limit; the mean leaves it out.
  settings.goodput = {};
  settings.goodput.tpot = 0.1;
  settings.goodput.itl = 0.1;
  const ServingResult single = analyse({reply(0, 0, 1, {})}, settings);
  EXPECT_EQ(*single.goodput, 1);
  EXPECT_EQ(single.tpot.n, 0u);
}

TEST(ServingAnalysis, LatenciesFromTheScheduledTimeAndQueueAndLag) {
  std::vector<RequestLog> logs = {reply(0, 1, 0.5, {}), reply(1, 4, 0.5, {})};
  logs[1].scheduled = 1;
  logs[1].due = 3.5;
  const ServingResult result = analyse(logs, {});
  EXPECT_EQ(result.ttft.mean, 0.5);
  EXPECT_EQ(result.ttft_scheduled.mean, (0.5 + 3.5) / 2);
  EXPECT_EQ(result.e2el_scheduled.maximum, 3.5);
  EXPECT_EQ(result.queue_time.maximum, 2.5);
  EXPECT_EQ(result.send_lag.maximum, 0.5);
  EXPECT_EQ(result.send_lag.median, 0.25);
}

TEST(ServingAnalysis, EventsOfSeveralTokens) {
  std::vector<RequestLog> logs = {reply(0, 0, 1, {0.5f, 0.5f})};
  logs[0].output_tokens = 5;  // in 3 events
  const ServingResult result = analyse(logs, {});
  EXPECT_EQ(result.itl.mean, 0.5);
  EXPECT_EQ(result.tpot.mean, 0.25);
  ASSERT_TRUE(result.itl_per_token);
  EXPECT_EQ(result.itl_per_token->mean, 0.25);
}

TEST(ServingAnalysis, SteadyStateOfAnOpenLoop) {
  AnalysisSettings settings;
  settings.load.request_rate = 4;
  const ServingResult result = analyse(steady_logs(100, 4), settings);
  ASSERT_TRUE(result.steady) << result.no_steady;
  EXPECT_EQ(result.steady->begin, 1);       // the first ends
  EXPECT_EQ(result.steady->end, 24.75);     // the last is sent
  EXPECT_EQ(result.steady->requests, 95u);  // without the first four and the last
  EXPECT_EQ(result.steady->request_throughput, 4);
  EXPECT_NEAR(result.steady->output_throughput, 16, 1e-9);
  EXPECT_EQ(result.steady->ttft.mean, 0.25);
  EXPECT_LT(result.request_throughput, 4);  // the whole run includes ramp and drain
  EXPECT_EQ(*result.saturation.achieved_share, 1);
  EXPECT_FALSE(result.saturation.saturated);
}

TEST(ServingAnalysis, SteadyStateOfAClosedLoop) {
  std::vector<RequestLog> logs;  // ten rounds of 4 in lockstep, then one straggler
  for (std::size_t i = 0; i < 40; ++i) {
    logs.push_back(reply(i, static_cast<double>(i / 4), 0.5, {0.5f}));
  }
  logs.push_back(reply(40, 10, 0.5, {0.5f}));
  AnalysisSettings settings;
  settings.load.max_concurrency = 4;
  const ServingResult result = analyse(logs, settings);
  ASSERT_TRUE(result.steady) << result.no_steady;
  EXPECT_EQ(result.steady->begin, 0);
  EXPECT_EQ(result.steady->end, 10);
  EXPECT_EQ(result.steady->requests, 40u);
  EXPECT_EQ(result.most_concurrent, 4u);  // departures come before arrivals
  EXPECT_THAT(result.saturation.sentence, HasSubstr("closed loop"));
  settings.load.max_concurrency = 5;
  EXPECT_EQ(analyse(logs, settings).no_steady, "at most 4 of 5 requests were in flight");
}

// All replies end just after the window in which all are in flight.
TEST(ServingAnalysis, SteadyRatesOfRepliesAndOfTokensAgree) {
  std::vector<RequestLog> logs;
  for (std::size_t i = 0; i < 16; ++i) {
    logs.push_back(reply(i, 0, 0.5, std::vector<float>(11, 0.5f + 0.001f * static_cast<float>(i))));
  }
  AnalysisSettings settings;
  settings.load.max_concurrency = 16;
  const ServingResult result = analyse(logs, settings);
  ASSERT_TRUE(result.steady) << result.no_steady;
  EXPECT_NEAR(result.steady->request_throughput, result.steady->output_throughput / 12, 1e-9);
  EXPECT_GT(result.steady->request_throughput, 2);
}

// The last requests of a short run end after it, and the longest replies last: that is no queue.
TEST(ServingAnalysis, TheDrainIsNoSaturation) {
  AnalysisSettings settings;
  settings.load.request_rate = 2;
  std::vector<RequestLog> logs;
  for (std::size_t i = 0; i < 20; ++i) {
    const float gap = 0.1f + 0.05f * static_cast<float>(i * 7 % 5);
    logs.push_back(reply(i, static_cast<double>(i) / 2, 0.2, std::vector<float>(10, gap)));
  }
  const Saturation saturation = analyse(logs, settings).saturation;
  EXPECT_FALSE(saturation.saturated) << saturation.sentence;
  EXPECT_NEAR(*saturation.achieved_share, 1, 0.1);
  // A few very long replies at the end.
  for (std::size_t i = 15; i < 20; ++i) {
    logs[i] = reply(i, static_cast<double>(i) / 2, 0.2, std::vector<float>(10, 3.f));
  }
  EXPECT_FALSE(analyse(logs, settings).saturation.saturated);
}

// A cap on a rate lets requests wait in the client, whose TTFT from the sending stays flat.
TEST(ServingAnalysis, WaitingInTheClientIsSaturation) {
  AnalysisSettings settings;
  settings.load.request_rate = 10;
  settings.load.max_concurrency = 5;
  std::vector<RequestLog> logs;
  for (std::size_t i = 0; i < 100; ++i) {
    RequestLog log = reply(i, static_cast<double>(i) / 5, 0.25, {0.25f, 0.25f, 0.25f});
    log.scheduled = static_cast<double>(i) / 10;
    log.due = log.sent;
    logs.push_back(log);
  }
  const Saturation saturation = analyse(logs, settings).saturation;
  EXPECT_TRUE(saturation.saturated) << saturation.sentence;
  EXPECT_NEAR(*saturation.achieved_share, 0.5, 0.01);
}

TEST(ServingAnalysis, NoSteadyStateIsSaidWhy) {
  AnalysisSettings settings;
  settings.load.request_rate = std::numeric_limits<double>::infinity();
  std::vector<RequestLog> logs = steady_logs(20, 1e9);
  EXPECT_EQ(analyse(logs, settings).no_steady, "all requests were sent before the first one ended");
  EXPECT_THAT(analyse(logs, settings).saturation.sentence, HasSubstr("at once"));
  settings.load.request_rate = 4;
  EXPECT_EQ(analyse(steady_logs(10, 4), settings).no_steady,
            "only 5 requests were sent between ramp and drain");
}

TEST(ServingAnalysis, LittlesLawHolds) {
  std::vector<RequestLog> logs = steady_logs(1000, 7);
  EXPECT_FALSE(analyse(logs, {}).little);
  AnalysisSettings settings;
  settings.client.request_seconds = 1000;  // 1000 requests of 1 s
  const ServingResult result = analyse(logs, settings);
  EXPECT_NEAR(result.little->in_flight, 7, 0.05);
  EXPECT_NEAR(result.little->difference, 0, 1e-9);
  EXPECT_THAT(result.verdict.warnings, Not(Contains(HasSubstr("Little"))));
  // A request that hangs is in flight but never completes.
  logs.push_back(failure(1000, 0, 143, ReplyEnd::silent));
  settings.client.request_seconds = 1143;
  EXPECT_NEAR(analyse(logs, settings).little->difference, -0.125, 0.001);
  EXPECT_THAT(analyse(logs, settings).verdict.warnings, Not(Contains(HasSubstr("Little"))));
}

TEST(ServingAnalysis, LittlesLawFindsWhatTheLogsLack) {
  std::vector<RequestLog> logs = steady_logs(1000, 7);
  AnalysisSettings settings;
  settings.client.request_seconds = 1000;
  logs.erase(logs.begin() + 500, logs.begin() + 600);
  EXPECT_THAT(analyse(logs, settings).verdict.warnings,
              Contains(HasSubstr("Little's law does not hold: 6.958 requests")));
}

TEST(ServingAnalysis, IdentityFindsLostTime) {
  std::vector<RequestLog> logs = {reply(0, 0, 1, {0.5f, 0.5f})};
  EXPECT_EQ(analyse(logs, {}).identity_error, 0);
  logs[0].last += 0.25;
  const ServingResult result = analyse(logs, {});
  EXPECT_EQ(result.identity_error, 0.25);
  EXPECT_THAT(result.verdict.warnings, Contains(HasSubstr("up to 250 ms")));
}

/// 10 requests per second offered to a server that answers `capacity` per second, in order.
Saturation saturation_at(double capacity, std::size_t n) {
  AnalysisSettings settings;
  settings.load.request_rate = 10;
  std::vector<RequestLog> logs;
  for (std::size_t i = 0; i < n; ++i) {
    const double sent = static_cast<double>(i) / 10;
    const double answered = static_cast<double>(i + 1) / capacity;
    logs.push_back(reply(i, sent, answered - sent, {}));
  }
  return analyse(logs, settings).saturation;
}

TEST(ServingAnalysis, SaturationBySlopes) {
  for (const double capacity : {9.9, 9.6, 5.0}) {
    const Saturation saturation = saturation_at(capacity, 3000);
    EXPECT_NEAR(*saturation.in_flight_slope, 10 - capacity, 0.1);
    EXPECT_NEAR(*saturation.ttft_slope, 10 / capacity - 1, 1e-3);
  }
  EXPECT_FALSE(saturation_at(9.9, 600).saturated);  // TTFT is still short
  // 96% of the rate is achieved, but the queue grows without end.
  EXPECT_GT(*saturation_at(9.6, 3000).achieved_share, 0.95);
  EXPECT_TRUE(saturation_at(9.6, 3000).saturated);
  EXPECT_THAT(saturation_at(9.6, 3000).sentence, HasSubstr("requests in flight"));
  // In 10 s no growth is visible, but half of the rate is not achieved.
  EXPECT_TRUE(saturation_at(5, 100).saturated);
  EXPECT_THAT(saturation_at(5, 100).sentence, HasSubstr("shorter than the 30 s"));
}

TEST(ServingAnalysis, TheRampDoesNotCountAsGrowth) {
  std::vector<RequestLog> logs;
  for (std::size_t i = 0; i < 200; ++i) logs.push_back(reply(i, static_cast<double>(i), 3, {57.f}));
  AnalysisSettings settings;
  settings.load.request_rate = 1;
  const Saturation saturation = analyse(logs, settings).saturation;
  EXPECT_NEAR(*saturation.in_flight_slope, 0, 0.01);
  EXPECT_FALSE(saturation.saturated);
}

TEST(ServingAnalysis, TargetsAndTheirImbalance) {
  std::vector<RequestLog> logs = steady_logs(8, 4);
  for (std::size_t i = 0; i < 6; ++i) logs[i].target = 1;
  const ServingResult result = analyse(logs, {});
  ASSERT_EQ(result.targets.size(), 2u);
  EXPECT_EQ(result.targets[0].requests, 2u);
  EXPECT_EQ(result.targets[1].requests, 6u);
  EXPECT_EQ(result.targets[1].mean_ttft, 0.25);
  EXPECT_EQ(result.imbalance, 1.5);
}

TEST(ServingVerdict, ValidWhereNothingIsWrong) {
  const RunVerdict verdict = analyse(steady_logs(1000, 4), {}).verdict;
  EXPECT_TRUE(verdict.valid());
  EXPECT_THAT(verdict.warnings, IsEmpty());
}

TEST(ServingVerdict, TheClientWasTheLimit) {
  AnalysisSettings settings;
  std::vector<RequestLog> logs = steady_logs(100, 4);
  settings.client.cpu_share = 0.81;
  EXPECT_THAT(analyse(logs, settings).verdict.void_reasons(),
              ElementsAre(HasSubstr("its threads computed 81% of the time")));
}

TEST(ServingVerdict, LateSendsVoidWhatCountsFromTheSending) {
  AnalysisSettings settings;
  const auto verdict_with = [&](std::size_t requests, std::size_t late, double lag) {
    std::vector<RequestLog> logs = steady_logs(requests, 4);
    for (std::size_t i = 0; i < late; ++i) logs[i].due = logs[i].scheduled = logs[i].sent - lag;
    return analyse(logs, settings).verdict;
  };
  EXPECT_EQ(verdict_with(100, 100, 0.012).late, "");  // 12 ms are below 5% of 250 ms
  const RunVerdict all = verdict_with(100, 100, 0.013);
  EXPECT_TRUE(all.valid());
  EXPECT_THAT(all.late, HasSubstr("100 of 100 requests were sent more than 12.5 ms late"));
  EXPECT_THAT(all.late, HasSubstr("TTFT, throughput and E2EL are void"));
  settings.load.request_rate = 4;
  EXPECT_THAT(verdict_with(100, 3, 1).late, HasSubstr("TTFT and E2EL are void"));
  EXPECT_EQ(verdict_with(20, 2, 1).late, "");     // the p99 of 20 is their maximum
  EXPECT_EQ(verdict_with(1000, 10, 1).late, "");  // 1% is allowed
  EXPECT_NE(verdict_with(1000, 11, 1).late, "");
}

TEST(ServingVerdict, EmptyAndShortRepliesVoid) {
  std::vector<RequestLog> logs = steady_logs(100, 4);
  logs[5].output_tokens = 3;
  EXPECT_TRUE(analyse(logs, {}).verdict.valid());  // 1% is allowed
  EXPECT_THAT(analyse(logs, {}).verdict.warnings,
              Contains("0 of 100 replies are empty and 1 shorter than asked"));
  logs[6].first = logs[6].last = -1;
  EXPECT_THAT(analyse(logs, {}).verdict.void_reasons(),
              ElementsAre("1 of 100 replies are empty and 1 shorter than asked; 1% is allowed"));
  AnalysisSettings lenient;
  lenient.most_spoilt = 0.02;
  EXPECT_TRUE(analyse(logs, lenient).verdict.valid());
}

TEST(ServingVerdict, FailuresAndWarnings) {
  std::vector<RequestLog> logs = steady_logs(2, 4);
  for (std::size_t i = 0; i < 3; ++i) logs.push_back(failure(2 + i, 0, 1, ReplyEnd::broken));
  logs[0].prompt_tokens = 11;
  logs[1].counted = false;
  logs[1].output_tokens = 1;  // not known to be short
  const RunVerdict verdict = analyse(logs, {}).verdict;
  EXPECT_THAT(verdict.void_reasons(), ElementsAre("3 of 5 requests failed"));
  EXPECT_THAT(verdict.warnings,
              ElementsAre("3 of 5 requests ended broken",
                          HasSubstr("a different prompt length than asked for in 1 of 5"),
                          HasSubstr("did not count the tokens of 1 replies"),
                          HasSubstr("p99 of 2 requests is uncertain")));
}

}  // namespace
}  // namespace assay
