#include "serving/results/slo.h"

#include <gmock/gmock.h>

#include "cli/serving/load_find_rate.h"
#include "serving/results/analysis.h"
#include "unit/serving_logs.h"

namespace assay {
namespace {

using testing::HasSubstr;

Slo slo_named(const std::string& text) {
  const auto slos = parse_slos(text);
  EXPECT_TRUE(slos.ok()) << text;
  return slos.ok() ? slos->front() : Slo{};
}

TEST(ServingSlo, ReadsTargets) {
  const auto slos = parse_slos("p99.9_ttft:200ms,mean_tpot:50ms,median_e2el:2s,attainment:95%");
  ASSERT_TRUE(slos.ok());
  ASSERT_EQ(slos->size(), 4u);
  EXPECT_EQ((*slos)[0].name, "p99.9_ttft");
  EXPECT_EQ((*slos)[0].quantity, Slo::Quantity::ttft);
  EXPECT_DOUBLE_EQ((*slos)[0].percent, 99.9);
  EXPECT_DOUBLE_EQ((*slos)[0].limit, 0.2);
  EXPECT_EQ((*slos)[1].quantity, Slo::Quantity::tpot);
  EXPECT_EQ((*slos)[1].percent, 0);
  EXPECT_EQ((*slos)[2].quantity, Slo::Quantity::e2el);
  EXPECT_EQ((*slos)[2].percent, 50);
  EXPECT_EQ((*slos)[3].quantity, Slo::Quantity::attainment);
  EXPECT_DOUBLE_EQ((*slos)[3].limit, 0.05);
}

TEST(ServingSlo, RefusesInvalidTargets) {
  for (const char* text :
       {"", ",", "p99_ttft", "p99_ttft:", "p99_ttft:0s", "p99_ttft:200", "p100_ttft:1s",
        "p0_ttft:1s", "p_ttft:1s", "p99x_ttft:1s", "max_ttft:1s", "p99_latency:1s", "ttft:1s",
        "attainment:95", "attainment:100%", "p99_ttft:1s,"}) {
    const auto slos = parse_slos(text);
    ASSERT_FALSE(slos.ok()) << text;
    EXPECT_EQ(slos.error().kind, ErrorKind::usage);
    EXPECT_THAT(slos.error().message, HasSubstr("p99_ttft:200ms"));
  }
}

TEST(ServingSlo, JudgesWhatUsersWait) {
  // The second request was held back for 2 s by a cap on concurrency.
  std::vector<RequestLog> logs = {reply(0, 0, 0.5, {0.1f, 0.1f}), reply(1, 3, 0.5, {0.3f, 0.3f})};
  logs[1].scheduled = 1;
  AnalysisSettings settings;
  settings.percents = {75};
  settings.goodput.tpot = 0.2;
  const ServingResult result = analyse(logs, settings);
  EXPECT_DOUBLE_EQ(value_of(slo_named("mean_ttft:1s"), result), 1.5);
  EXPECT_DOUBLE_EQ(value_of(slo_named("p75_ttft:1s"), result), 2.0);
  EXPECT_DOUBLE_EQ(value_of(slo_named("median_ttft:1s"), result), 1.5);
  EXPECT_NEAR(value_of(slo_named("mean_tpot:1s"), result), 0.2, 1e-6);
  EXPECT_NEAR(value_of(slo_named("mean_itl:1s"), result), 0.2, 1e-6);
  EXPECT_NEAR(value_of(slo_named("mean_e2el:1s"), result), 1.9, 1e-6);
  EXPECT_DOUBLE_EQ(value_of(slo_named("attainment:95%"), result), 0.5);
}

TEST(ServingSlo, AFailedRequestMissesItsLimits) {
  const std::vector<RequestLog> logs = {reply(0, 0, 0.5, {0.1f}), reply(1, 1, 0.5, {0.1f}),
                                        reply(2, 2, 0.5, {0.1f}),
                                        failure(3, 3, 4, ReplyEnd::broken)};
  AnalysisSettings settings;
  settings.goodput.ttft = 1;
  EXPECT_DOUBLE_EQ(value_of(slo_named("attainment:95%"), analyse(logs, settings)), 0.25);
}

TEST(ServingSlo, IsShownAsItWasAskedFor) {
  const Slo attainment = slo_named("attainment:95%");
  EXPECT_EQ(slo_text(attainment, attainment.limit), "95%");
  EXPECT_DOUBLE_EQ(reported_value(attainment, 0.04), 0.96);
  const Slo latency = slo_named("p99_ttft:200ms");
  EXPECT_EQ(slo_text(latency, latency.limit), "200.0 ms");
  EXPECT_DOUBLE_EQ(reported_value(latency, 0.183), 0.183);
}

/// A probe's result; `ttft` from the schedule.
ServingResult probe_of(double ttft, double tpot) {
  ServingResult result;
  result.counts.requests = result.counts.completed = 100;
  result.ttft_scheduled.mean = ttft;
  result.tpot.mean = tpot;
  return result;
}

TEST(FindRate, ALateClientSpoilsOnlyProbesThatMissTargetsItTouches) {
  cli::FindRate find;
  find.targets = *parse_slos("mean_ttft:200ms,mean_tpot:50ms");
  ServingResult good = probe_of(0.1, 0.04), slow = probe_of(0.3, 0.04);
  EXPECT_TRUE(cli::outcome_of(find, good).passes());
  EXPECT_FALSE(cli::outcome_of(find, slow).passes());
  EXPECT_FALSE(cli::outcome_of(find, slow).is_void);
  for (ServingResult* result : {&good, &slow}) result->verdict.late = "late";
  EXPECT_TRUE(cli::outcome_of(find, good).passes());  // lag only makes it worse
  EXPECT_TRUE(cli::outcome_of(find, slow).is_void);
  EXPECT_EQ(cli::outcome_of(find, slow).fault, "late");
  find.targets = *parse_slos("mean_tpot:50ms");
  const ServingResult between = [] {
    ServingResult result = probe_of(0.1, 0.06);
    result.verdict.late = "late";
    return result;
  }();
  EXPECT_FALSE(cli::outcome_of(find, between).is_void);  // lag does not touch it
  EXPECT_FALSE(cli::outcome_of(find, between).passes());
  ServingResult busy = probe_of(0.1, 0.06);
  busy.verdict.client_reasons = {"busy"};
  EXPECT_TRUE(cli::outcome_of(find, busy).is_void);
  ServingResult spoilt = probe_of(0.1, 0.04);
  spoilt.verdict.server_reasons = {"3 of 5 requests failed"};
  EXPECT_FALSE(cli::outcome_of(find, spoilt).is_void);
  EXPECT_EQ(cli::outcome_of(find, spoilt).fault, "3 of 5 requests failed");
}

}  // namespace
}  // namespace assay
