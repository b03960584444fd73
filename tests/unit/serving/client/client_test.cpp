// The load generator's small parts: where servers are, what they are asked, what they say, which
// one is next, and how many connections there can be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "serving/client/api.h"
#include "serving/client/balancer.h"
#include "serving/client/event_stream.h"
#include "serving/client/reply_event.h"
#include "serving/client/socket_limits.h"
#include "serving/client/url.h"
#include "serving/results/timing_error.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(LoadUrl, NamesHostPortAndPath) {
  const auto full = parse_url("https://example.org/base/");
  ASSERT_TRUE(full.ok());
  EXPECT_TRUE(full->tls);
  EXPECT_EQ(full->port, 443);
  EXPECT_EQ(text_of(*full), "https://example.org:443/base");
  EXPECT_EQ(text_of(*parse_url("node1:8000")), "http://node1:8000");
  EXPECT_EQ(text_of(*parse_url("http://[::1]:8000")), "http://[::1]:8000");
  EXPECT_EQ(parse_url("http://host")->port, 80);
  // OpenAI's clients are given addresses in this form.
  EXPECT_EQ(text_of(*parse_url("http://host:8000/v1/")), "http://host:8000");
  EXPECT_EQ(text_of(*parse_url("http://host:8000/base/v1")), "http://host:8000/base");
  EXPECT_EQ(text_of(*parse_url("http://host:8000/v12")), "http://host:8000/v12");
}

TEST(LoadUrl, InvalidUrlsAreErrors) {
  for (const char* text : {"", "http://", "ftp://host", "http://host:0", "http://host:70000",
                           "http://host:x", "http://a b", "http://user@host", "http://[::1",
                           "http://host\r\nX: y", "http://host/?q=1"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.error().kind, ErrorKind::usage);
    EXPECT_THAT(url.error().message, HasSubstr("expected e.g."));
  }
}

TEST(LoadUrl, ListsAndRangesOfPortsAreServers) {
  const auto texts = [](const char* list) {
    std::vector<std::string> all;
    const auto urls = parse_urls(list);
    if (!urls) return std::vector{urls.error().message};
    for (const Url& url : *urls) all.push_back(text_of(url));
    return all;
  };
  EXPECT_THAT(texts("http://h:8200-8202,b:1"),
              ElementsAre("http://h:8200", "http://h:8201", "http://h:8202", "http://b:1"));
  EXPECT_THAT(texts("http://[::1]:9-10/v"), ElementsAre("http://[::1]:9/v", "http://[::1]:10/v"));
  EXPECT_THAT(texts("http://a-1:8/x-2"), ElementsAre("http://a-1:8/x-2"));
  EXPECT_EQ(texts("http://h:8200-8455").size(), 256u);
  for (const char* wrong :
       {"http://h:8200-8456", "http://h:9-8", "http://h:65535-65536", "h:8-x"}) {
    EXPECT_FALSE(parse_urls(wrong).ok()) << wrong;
  }
  EXPECT_THAT(parse_urls("http://u:pa55,pa55@h").error().message, Not(HasSubstr("pa55")));
}

TEST(LoadUrl, ErrorsShowNoLogin) {
  for (const char* text :
       {"http://u:pa55@host:8000", "u:pa55@host", "http://u:pa55/x@host", "http://u:p,pa55@host",
        "http://u:x@pa55@host", "http://host/?api_key=pa55", "http://u:pa55\n@host"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_THAT(url.error().message,
                AllOf(HasSubstr("(set)"), Not(HasSubstr("pa55")), Not(HasSubstr("\n"))));
  }
}

std::vector<std::string> events_of(const std::vector<std::string>& pieces) {
  EventStream stream;
  std::vector<std::string> events;
  const auto take = [&](std::string_view data) { events.emplace_back(data); };
  for (const std::string& piece : pieces) EXPECT_TRUE(stream.feed(piece, take));
  stream.finish(take);
  return events;
}

TEST(LoadEventStream, FindsEventsHoweverTheyAreCut) {
  const std::string text = "data: one\n\n: comment\ndata:two\r\n\r\nevent: x\ndata: three";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_THAT(events_of({text.substr(0, cut), text.substr(cut)}),
                ElementsAre("one", "two", "three"))
        << cut;
  }
}

TEST(LoadEventStream, AByteOrderMarkIsNoPartOfTheFirstEvent) {
  const std::string mark = "\xEF\xBB\xBF";
  for (const std::size_t cut : {0, 1, 3, 9}) {
    const std::string text = mark + "data: one\n\n" + mark + "data: two\n\ndata: three\n\n";
    EXPECT_THAT(events_of({text.substr(0, cut), text.substr(cut)}), ElementsAre("one", "three"));
  }
}

TEST(LoadEventStream, ALineWithoutEndIsRefusedInTime) {
  EventStream stream;
  const auto ignore = [](std::string_view) {};
  const std::string piece(1 << 20, 'x');
  std::size_t fed = 0;
  while (stream.feed(piece, ignore) && fed < 2 * EventStream::longest_line) fed += piece.size();
  EXPECT_LE(fed, EventStream::longest_line);
}

ReplyEvent event_of(Api api, std::string_view json) {
  ReplyEvent event;
  EXPECT_TRUE(read_reply_event(api, json, event)) << json;
  return event;
}

TEST(LoadReply, ReadsWhatServersSay) {
  const ReplyEvent token =
      event_of(Api::completions, R"({"choices":[{"text":" a\u00e9","finish_reason":null}]})");
  EXPECT_TRUE(token.token);
  EXPECT_EQ(token.text, " a\xc3\xa9");
  const ReplyEvent usage = event_of(
      Api::completions, R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":9}})");
  EXPECT_FALSE(usage.token);
  EXPECT_EQ(usage.prompt_tokens, 7u);
  EXPECT_EQ(usage.output_tokens, 9u);
  const ReplyEvent thought =
      event_of(Api::chat, R"({"choices":[{"delta":{"reasoning_content":"hm"}}]})");
  EXPECT_TRUE(thought.token);
  const ReplyEvent call = event_of(
      Api::chat, R"({"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{"}}]}}]})");
  EXPECT_TRUE(call.token);
  EXPECT_EQ(event_of(Api::chat, R"({"error":"too long"})").error, "too long");
}

TEST(LoadReply, ReadsLlamaCppsAndTgisOwnWays) {
  const ReplyEvent llama = event_of(Api::llamacpp, R"({"content":"x","stop":false})");
  EXPECT_TRUE(llama.token);
  const ReplyEvent last = event_of(
      Api::llamacpp,
      R"({"content":"","stop":true,"stop_type":"limit","tokens_predicted":3,"tokens_evaluated":5})");
  EXPECT_FALSE(last.token);
  EXPECT_EQ(last.output_tokens, 3u);
  EXPECT_EQ(last.finish_reason, "limit");
  const ReplyEvent tgi = event_of(
      Api::tgi,
      R"({"token":{"id":5,"text":"y"},"generated_text":"xy","details":{"finish_reason":"length","generated_tokens":2}})");
  EXPECT_TRUE(tgi.token);
  EXPECT_EQ(tgi.text, "y");
  EXPECT_EQ(tgi.output_tokens, 2u);
}

TEST(LoadReply, NothingInItIsTrusted) {
  ReplyEvent event;
  for (const char* text : {"", "[1,2]", "7", "{\"choices\":[{]}", "{\"a\":", "nonsense"}) {
    EXPECT_FALSE(read_reply_event(Api::chat, text, event) && event.token) << text;
  }
  const std::string deep(1'000'000, '[');
  EXPECT_FALSE(read_reply_event(Api::chat, "{\"choices\":" + deep, event));
  EXPECT_TRUE(read_reply_event(Api::chat, R"({"usage":{"prompt_tokens":-1}})", event));
  EXPECT_FALSE(event.prompt_tokens.has_value());
}

TEST(LoadApi, BodiesAreAsServersWantThem) {
  Prompt prompt;
  prompt.ids = {1, 2, 3};
  prompt.output_tokens = 8;
  RequestOptions options;
  options.model = "m";
  options.ignore_eos = true;
  options.extra = {{"top_k", 1}, {"stream", false}};
  const auto json = Json::parse(body_of(options, prompt, {}));
  EXPECT_EQ(json["prompt"], (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(json["max_tokens"], 8);
  EXPECT_EQ(json["min_tokens"], 8);
  EXPECT_EQ(json["stream"], false) << "what the user adds wins";
  EXPECT_EQ(json["top_k"], 1);
  options.api = Api::tgi;
  prompt.ids.clear();
  prompt.text = "half a character: \xc3";
  EXPECT_EQ(Json::parse(body_of(options, prompt, {}))["parameters"]["max_new_tokens"], 8);
}

TEST(LoadApi, WhatIsAskedForIsWhatTheBodySays) {
  Prompt prompt;
  prompt.output_tokens = 8;
  const auto asked = [&](Api api, Json extra) {
    RequestOptions options;
    options.api = api;
    options.extra = std::move(extra);
    return output_asked(options, prompt);
  };
  EXPECT_EQ(asked(Api::completions, Json::object()), 8u);
  EXPECT_EQ(asked(Api::completions, {{"max_tokens", 20}, {"n", 3}}), 60u);
  EXPECT_EQ(asked(Api::chat, {{"max_completion_tokens", 20}}), 20u);
  EXPECT_EQ(asked(Api::llamacpp, {{"n_predict", 5}}), 5u);
  EXPECT_EQ(asked(Api::tgi, {{"parameters", {{"max_new_tokens", 9}}}}), 9u);
  EXPECT_EQ(asked(Api::tgi, {{"parameters", {{"details", true}}}}), 0u);
}

TEST(LoadBalancer, SpreadsByItsPolicy) {
  Balancer turns(Balance::turns, 3, 0);
  std::vector<std::size_t> order;
  for (int i = 0; i < 6; ++i) order.push_back(turns.choose());
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 0, 1, 2));

  Balancer least(Balance::least, 3, 0);
  for (int i = 0; i < 3; ++i) least.choose();
  least.done(1);
  EXPECT_EQ(least.choose(), 1u);

  Balancer balance_random(Balance::random, 4, 7);
  std::vector<int> counts(4);
  for (int i = 0; i < 4000; ++i) ++counts[balance_random.choose()];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 120);
}

TEST(LoadSockets, TooManyAreForeseen) {
  const SocketLimits limits{1024, 28000};
  EXPECT_TRUE(check_sockets(limits, 900, 1).ok());
  const Status files = check_sockets(limits, 2000, 1);
  ASSERT_FALSE(files.ok());
  EXPECT_THAT(files.error().message, HasSubstr("ulimit"));
  const SocketLimits plenty{1'000'000, 28000};
  const Status ports = check_sockets(plenty, 40000, 1);
  ASSERT_FALSE(ports.ok());
  EXPECT_THAT(ports.error().message, HasSubstr("local ports"));
  EXPECT_TRUE(check_sockets(plenty, 40000, 2).ok());
}

TEST(LoadTimingError, IsTheDistanceFromThePlannedTimes) {
  std::vector<RequestLog> logs(100);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    logs[i].reply_end = ReplyEnd::complete;
    logs[i].sent = 1;
    logs[i].first = 1.2 + (i == 0 ? 0.5 : 0.001);
    logs[i].gaps = {0.02F, i % 2 == 0 ? 0.023F : 0.017F};
  }
  const TimingError error = planned_error(logs, 0.2, 0.02);
  EXPECT_NEAR(error.ttft_p99, 0.001, 1e-6);
  EXPECT_NEAR(error.itl_p99, 0.003, 1e-6);
}

TEST(LoadTimingError, OfTheClientLeavesOutWhatTheServerSentLate) {
  std::vector<RequestLog> logs(100);
  for (RequestLog& log : logs) {
    log.reply_end = ReplyEnd::complete;
    log.sent = 1;
    log.first = 1.9;  // 700 ms late, 2 ms of it by the client
    log.gaps = {0.5F, 0.02F};
    log.delays = {0.002F, 0.0025F, 0.0015F};
  }
  const auto error = client_error(logs);
  ASSERT_TRUE(error);
  EXPECT_NEAR(error->ttft_p99, 0.002, 1e-6);
  EXPECT_NEAR(error->itl_p99, 0.001, 1e-6);
  logs[7].delays.pop_back();
  EXPECT_FALSE(client_error(logs)) << "a token without a stamp";
  EXPECT_FALSE(client_error({}));
}

}  // namespace
}  // namespace assay
