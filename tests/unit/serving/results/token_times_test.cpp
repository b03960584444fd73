// Whether what is known of a reply's tokens can be, and what does not hold where it cannot.
#include "serving/results/token_times.h"

#include <gmock/gmock.h>

#include "serving/results/analysis.h"
#include "serving/results/serving_record.h"
#include "unit/serving_logs.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;

std::vector<float> gaps_of(std::size_t count, float seconds) {
  return std::vector<float>(count, seconds);
}

/// The server says that the reply has `tokens` tokens; its text has four bytes for each event.
RequestLog counted(RequestLog log, std::uint64_t tokens) {
  log.output_tokens = log.output_asked = tokens;
  log.output_bytes = 4 * (log.gaps.size() + 1);
  return log;
}

TEST(TokenTimes, HoldWhereTokensCameOneByOneOrAFewAtATime) {
  EXPECT_EQ(token_times_of(reply(0, 0, 0.1, gaps_of(11, 0.01F))), TokenTimes::hold);
  EXPECT_EQ(token_times_of(reply(0, 0, 0.1, {})), TokenTimes::hold);  // of one token
  EXPECT_EQ(token_times_of(reply(0, 0, 0.1, gaps_of(200, 1e-4F))), TokenTimes::hold);
  // Several tokens an event, as speculative decoding makes them.
  EXPECT_EQ(token_times_of(counted(reply(0, 0, 0.1, gaps_of(3, 0.03F)), 12)), TokenTimes::hold);
  // Four tokens at a time again, now with an event for each token.
  std::vector<float> four_at_a_time;
  for (int i = 1; i < 40; ++i) four_at_a_time.push_back(i % 4 == 0 ? 0.03F : 5e-6F);
  EXPECT_EQ(token_times_of(reply(0, 0, 0.1, four_at_a_time)), TokenTimes::hold);
}

TEST(TokenTimes, AreHeldBackWhereTokensCameTogether) {
  EXPECT_EQ(token_times_of(reply(0, 0, 0.1, gaps_of(11, 15e-6F))), TokenTimes::held_back);
  EXPECT_EQ(token_times_of(reply(0, 0, 0.1, gaps_of(11, 0))), TokenTimes::held_back);
  EXPECT_EQ(token_times_of(counted(reply(0, 0, 0.1, {}), 4)), TokenTimes::held_back);
  EXPECT_EQ(token_times_of(counted(reply(0, 0, 0.1, {0.1F, 0.1F}), 12)), TokenTimes::held_back);
  std::vector<float> by_page = gaps_of(255, 0);  // of a proxy that fills its buffers
  for (std::size_t i = 24; i < by_page.size(); i += 25) by_page[i] = 0.25F;
  EXPECT_EQ(token_times_of(reply(0, 0, 0.1, by_page)), TokenTimes::held_back);
}

TEST(TokenTimes, CountsThatNoTextCanHoldAndTokensThatAreNotSent) {
  EXPECT_EQ(token_times_of(counted(reply(0, 0, 0.1, {0.01F}), 500)), TokenTimes::miscounted);
  EXPECT_EQ(token_times_of(counted(reply(0, 0, 0.1, {0.01F}), 11)), TokenTimes::miscounted);
  RequestLog hidden = counted(reply(0, 0, 0.1, {0.01F, 0.01F}), 500);
  hidden.hidden_tokens = 497;
  EXPECT_EQ(token_times_of(hidden), TokenTimes::hidden);
  hidden.streamed = false;
  EXPECT_EQ(token_times_of(hidden), TokenTimes::hold);  // it has no times between tokens
  hidden.hidden_tokens = 0;
  EXPECT_EQ(token_times_of(hidden), TokenTimes::miscounted);
}

std::vector<std::string> void_metrics(const std::vector<RequestLog>& logs, std::string& why) {
  AnalysisSettings settings;
  settings.goodput.tpot = 1;
  const Record record = serving_record(analyse(logs, settings), {});
  EXPECT_EQ(record.status, RecordStatus::passed);
  const std::string* const note = find_note(record, void_note);
  why = note == nullptr ? "" : *note;
  std::vector<std::string> names;
  for (const Metric& metric : record.metrics) {
    if (metric.is_void) names.push_back(metric.name);
    EXPECT_FALSE(metric.is_void && metric.better != Better::neither) << metric.name;
  }
  return names;
}

/// `bad` of 40 replies are `doubtful`.
std::vector<RequestLog> forty(std::size_t bad, const RequestLog& doubtful) {
  std::vector<RequestLog> logs;
  for (std::size_t i = 0; i < 40; ++i) {
    logs.push_back(i < bad ? doubtful : reply(i, 0, 0.1, gaps_of(11, 0.01F)));
    RequestLog& log = logs.back();
    log.index = i;
    const double length = log.last - log.first;
    log.sent = log.due = log.scheduled = static_cast<double>(i);
    log.first = log.sent + 0.1;
    log.last = log.end = log.first + length;
  }
  return logs;
}

TEST(TokenTimes, WhatDoesNotHoldIsVoidWithItsReason) {
  std::string why;
  const RequestLog together = reply(0, 0, 0.1, gaps_of(11, 0));
  const auto held_back = void_metrics(forty(5, together), why);
  EXPECT_THAT(held_back, IsSupersetOf({"mean_tpot", "p99_itl", "request_goodput"}));
  EXPECT_THAT(held_back, testing::Not(testing::Contains("output_throughput")));
  EXPECT_THAT(held_back, testing::Not(testing::Contains("mean_ttft")));
  EXPECT_THAT(why, HasSubstr("most tokens came together in 5 of 40 replies"));
  EXPECT_TRUE(void_metrics(forty(4, together), why).empty());  // a client that had to wait
  EXPECT_EQ(why, "");

  RequestLog hidden = counted(reply(0, 0, 0.1, {0.01F, 0.01F}), 12);
  hidden.hidden_tokens = 9;
  EXPECT_THAT(void_metrics(forty(40, hidden), why), IsSupersetOf({"mean_tpot", "p99_itl"}));
  EXPECT_THAT(why, HasSubstr("reasoning that it does not send in 40 of 40 replies, 9 of 12"));

  const auto miscounted = void_metrics(forty(40, counted(reply(0, 0, 0.1, {0.01F}), 500)), why);
  EXPECT_THAT(miscounted, IsSupersetOf({"output_throughput", "total_token_throughput", "mean_tpot",
                                        "p99_itl", "mean_itl_per_token"}));
  EXPECT_THAT(why, HasSubstr("500 in 8 bytes of 2 events"));
}

}  // namespace
}  // namespace assay
