// The load generator against a scripted server: what it sends when, on which connections, and the
// times it gives to what arrives.
#include "serving/client/load_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <latch>
#include <thread>

#include "core/json.h"
#include "core/random.h"
#include "support/scripted_load.h"

namespace assay {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using ScriptedClient = ScriptedServer::Client;

class LongText final : public Prompts {
 public:
  static constexpr std::size_t bytes = 12 << 20;  // more than a connection's buffers hold
  std::size_t size() const override { return 1; }
  Prompt at(std::size_t) const override {
    Prompt prompt;
    prompt.text = std::string(bytes, 'x');
    prompt.text += "the end";
    prompt.tokens = 5;
    prompt.output_tokens = 3;
    return prompt;
  }
  bool follows(std::size_t) const override { return false; }
};

TEST(LoadRun, ARequestThatIsLongerThanTheSocketTakesArrivesWhole) {
  std::atomic<std::size_t> size = 0;
  std::atomic<bool> whole = false;
  ScriptedServer server([&](ScriptedClient& client, int, const std::string& body) {
    size = body.size();
    whole = body.find("xthe end\"") != std::string::npos && body.ends_with('}');
    answer_well(client);
  });
  LoadPlan plan = closed_loop(1);
  plan.silence_seconds = 30;
  const LoadOutcome outcome = load_server(server, plan, LongText());
  ASSERT_EQ(outcome.logs.size(), 1u);
  EXPECT_TRUE(outcome.logs[0].succeeded()) << outcome.logs[0].error;
  EXPECT_GT(size, LongText::bytes);
  EXPECT_TRUE(whole);
}

/// The log of a request that is refused as soon as its head has arrived.
RequestLog log_of_refused(std::function<void(ScriptedClient&)> refuse) {
  ScriptedServer server(
      [](ScriptedClient& client, int, const std::string&) { answer_well(client); },
      std::move(refuse));
  const LoadOutcome outcome = load_server(server, closed_loop(1), LongText());
  EXPECT_EQ(outcome.logs.size(), 1u);
  EXPECT_EQ(server.requests(), 0);
  return outcome.logs[0];
}

TEST(LoadRun, AResetWhileARequestIsSentIsBroken) {
  const RequestLog log = log_of_refused([](ScriptedClient& client) { client.reset(); });
  EXPECT_EQ(log.reply_end, ReplyEnd::broken);
  // Depends on which of the two notices first.
  EXPECT_THAT(log.error, AnyOf(HasSubstr("sending: "), HasSubstr("reading: ")));
}

TEST(LoadRun, ARefusalWhileARequestIsSentIsRead) {
  const RequestLog log = log_of_refused([](ScriptedClient& client) {
    client.say("HTTP/1.1 413 x\r\nContent-Length: 8\r\n\r\ntoo long");
    client.wait_for_close();
  });
  EXPECT_EQ(log.reply_end, ReplyEnd::refused) << log.error;
  EXPECT_EQ(log.error, "HTTP 413: too long");
}

TEST(LoadRun, TokensAreTimedOnArrival) {
  const auto now = [] {
    return std::chrono::duration<double>(LoadClock::now().time_since_epoch()).count();
  };
  struct Sent {
    std::atomic<double> after = 0, before = 0;  ///< bounds on when the token went out
  };
  std::array<Sent, 30> sent;
  ScriptedServer server([&](ScriptedClient& client, int, const std::string&) {
    client.begin_stream();
    for (Sent& token : sent) {
      token.after = now();
      client.token("a");
      token.before = now();
      client.wait(0.1);
    }
    client.end_stream();
  });
  auto endpoint = find_endpoint(*parse_url(server.url()), false);
  ASSERT_TRUE(endpoint.ok());
  // A client that does other work for a fifth of its time.
  const auto held_up = [](const LoadState&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  };
  LoadPlan plan = closed_loop(1);
  plan.request.extra = {{"max_tokens", sent.size()}};
  const auto outcome = run_load(plan, TextPrompts(1), {*endpoint}, nullptr, held_up);
  ASSERT_TRUE(outcome.ok());
  const RequestLog& log = outcome->logs[0];
  ASSERT_EQ(log.gaps.size(), 29u);
  int wrong = 0;
  for (std::size_t i = 0; i < log.gaps.size(); ++i) {
    const double least = sent[i + 1].after - sent[i].before;
    const double most = sent[i + 1].before - sent[i].after;
    wrong += log.gaps[i] < least - 0.002 || log.gaps[i] > most + 0.002;
  }
  // The kernel may not stamp the first packets after it was asked to.
  EXPECT_LE(wrong, 4) << "of 29; about 8 by the time of reading";
}

TEST(LoadRun, ConnectionsAreKeptAndAClosedLoopKeepsItsNumber) {
  std::atomic<int> in_flight = 0, most = 0;
  const auto end = LoadClock::now() + std::chrono::seconds(20);
  ScriptedServer server([&](ScriptedClient& client, int, const std::string&) {
    const int now = ++in_flight;
    int before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
    // Waits until four requests are in flight together, then long enough for a fifth to arrive.
    while (most < 4 && LoadClock::now() < end) client.wait(0.001);
    client.wait(0.005);
    --in_flight;  // before the reply, whose end lets the next request come
    answer_well(client);
  });
  const LoadOutcome outcome = load_server(server, closed_loop(4), TextPrompts(40));
  EXPECT_EQ(outcome.logs.size(), 40u);
  for (const RequestLog& log : outcome.logs) EXPECT_TRUE(log.succeeded()) << log.error;
  EXPECT_EQ(most, 4);
  EXPECT_LE(server.connections(), 5);  // one more was made to find the server
}

/// Says when each prompt was made.
class TimedPrompts final : public Prompts {
 public:
  std::size_t size() const override { return prompts_.size(); }
  Prompt at(std::size_t index) const override {
    made_.push_back(LoadClock::now());
    return prompts_.at(index);
  }
  const std::vector<LoadClock::time_point>& made() const { return made_; }

 private:
  TextPrompts prompts_{8};
  mutable std::vector<LoadClock::time_point> made_;
};

TEST(LoadRun, RequestsThatBeginTogetherAreMadeBeforeTheClockStarts) {
  ScriptedServer server(
      [](ScriptedClient& client, int, const std::string&) { answer_well(client); });
  const TimedPrompts prompts;
  const LoadOutcome outcome = load_server(server, closed_loop(8), prompts);
  EXPECT_EQ(outcome.logs.size(), 8u);
  EXPECT_EQ(prompts.made().size(), 8u);
  for (const LoadClock::time_point made : prompts.made()) EXPECT_LT(made, outcome.begin);
}

/// How many connections are there before any request; none is sent.
int opened_ahead(LoadPlan plan) {
  ScriptedServer server(
      [](ScriptedClient& client, int, const std::string&) { answer_well(client); });
  plan.send_seconds = 1e-9;
  EXPECT_EQ(load_server(server, plan, TextPrompts(3)).logs.size(), 0u);
  // This one's reply comes after all before it were accepted.
  EXPECT_EQ(load_server(server, closed_loop(1), TextPrompts(1)).logs.size(), 1u);
  EXPECT_EQ(server.requests(), 1);
  return server.connections() - 3;  // two were made to find the server
}

TEST(LoadRun, ConnectionsOfABurstAreThereBeforeItsRequests) {
  EXPECT_EQ(opened_ahead(closed_loop(3)), 3);
  LoadPlan open;
  open.arrivals = {0, 0.009, 0.2};
  EXPECT_EQ(opened_ahead(open), 2);
  open.max_concurrency = 1;
  EXPECT_EQ(opened_ahead(open), 1);
  LoadPlan ramp = closed_loop(3);
  ramp.ramp_seconds = 30;
  while (Random(ramp.seed).uniform() > 5e-4) ++ramp.seed;  // the first is due at once
  EXPECT_EQ(opened_ahead(ramp), 1);
}

TEST(LoadRun, AConnectionThatIsClosedBeforeItsRequestCostsNone) {
  // The server expects requests soon: those opened ahead are over.
  const auto end = LoadClock::now() + std::chrono::seconds(20);
  ScriptedServer* self = nullptr;
  ScriptedServer server([&](ScriptedClient& client, int number, const std::string&) {
    if (number >= 3) return answer_well(client);
    // All three are there before one comes again.
    while (self->requests() < 3 && LoadClock::now() < end) client.wait(0.001);
    client.close();
  });
  self = &server;
  const LoadOutcome outcome = load_server(server, closed_loop(3), TextPrompts(3));
  for (const RequestLog& log : outcome.logs) {
    EXPECT_TRUE(log.succeeded()) << log.error;
    EXPECT_TRUE(log.resent);
  }
  // Not again: a server that answers nothing is broken.
  ScriptedServer broken([](ScriptedClient& client, int, const std::string&) { client.close(); });
  for (const RequestLog& log : load_server(broken, closed_loop(3), TextPrompts(3)).logs) {
    EXPECT_EQ(log.reply_end, ReplyEnd::broken);
  }
  EXPECT_EQ(broken.requests(), 6);
}

/// The first is as large as all that are made ahead may be, so that the others are made after it.
class PromptsOfABurst final : public Prompts {
 public:
  explicit PromptsOfABurst(std::function<void()> before_ninth)
      : before_ninth_(std::move(before_ninth)) {}
  std::size_t size() const override { return 16; }
  Prompt at(std::size_t index) const override {
    Prompt prompt = prompts_.at(index);
    if (index == 0) prompt.text.assign(std::size_t{64} << 20, 'x');
    if (index == 9) before_ninth_();
    last_ = LoadClock::now();
    return prompt;
  }
  bool follows(std::size_t) const override { return false; }
  LoadClock::time_point last() const { return last_; }

 private:
  const TextPrompts prompts_{16};
  const std::function<void()> before_ninth_;
  mutable LoadClock::time_point last_;
};

TEST(LoadRun, RepliesAreReadWhileRequestsAreMadeAfterABurst) {
  std::atomic<bool> answered = false;
  ScriptedServer server([&](ScriptedClient& client, int, const std::string&) {
    answer_well(client);
    answered = true;
  });
  const PromptsOfABurst prompts([&] {
    const auto end = LoadClock::now() + std::chrono::seconds(20);
    while (!answered && LoadClock::now() < end) std::this_thread::yield();
  });
  const LoadOutcome outcome = load_server(server, closed_loop(8), prompts);
  ASSERT_EQ(outcome.logs.size(), 16u);
  const double last = std::chrono::duration<double>(prompts.last() - outcome.begin).count();
  const auto read = [&](const RequestLog& log) { return log.end < last; };
  EXPECT_GE(std::ranges::count_if(outcome.logs, read), 1);
}

TEST(LoadRun, AStopBeforeTheClockStartsSendsNothing) {
  ScriptedServer server(
      [](ScriptedClient& client, int, const std::string&) { answer_well(client); });
  auto endpoint = find_endpoint(*parse_url(server.url()), false);
  for (const std::size_t most : {3u, 8u}) {  // while requests are made, and after that
    const TimedPrompts prompts;
    const auto outcome = run_load(
        closed_loop(8), prompts, {*endpoint}, [&] { return prompts.made().size() == most; },
        nullptr);
    EXPECT_TRUE(outcome->interrupted);
    EXPECT_EQ(outcome->logs.size(), 0u);
    EXPECT_EQ(prompts.made().size(), most);
  }
  EXPECT_EQ(server.requests(), 0);
}

// Little's law compares the two, so neither may be computed from the other.
TEST(LoadRun, TheTimeInFlightIsCountedApartFromTheLogs) {
  ScriptedServer server([](ScriptedClient& client, int, const std::string&) {
    client.wait(0.2);
    answer_well(client);
  });
  const LoadOutcome outcome = load_server(server, closed_loop(3), TextPrompts(12));
  double logged = 0;
  for (const RequestLog& log : outcome.logs) logged += log.end - log.sent;
  EXPECT_GE(logged, 12 * 0.2);
  EXPECT_NEAR(*outcome.health.request_seconds / logged, 1, 0.5);
}

TEST(LoadRun, AKeptConnectionThatIsClosedCostsNoRequest) {
  // This is what llama.cpp's server does: it closes without announcing it.
  ScriptedServer server([](ScriptedClient& client, int, const std::string&) {
    answer_well(client);
    client.close();
  });
  const LoadOutcome outcome = load_server(server, closed_loop(3), TextPrompts(60));
  for (const RequestLog& log : outcome.logs) EXPECT_TRUE(log.succeeded()) << log.error;
}

TEST(LoadRun, AStalledServerDoesNotThinTheLoad) {
  // Stalls until all requests have arrived, which a load that waits for replies would never send.
  std::latch came(20);
  ScriptedServer server([&](ScriptedClient& client, int, const std::string&) {
    came.count_down();
    for (int i = 0; i < 30'000 && !came.try_wait(); ++i) client.wait(0.001);
    EXPECT_TRUE(came.try_wait());
    answer_well(client);
  });
  LoadPlan plan;
  plan.silence_seconds = 60;
  for (int i = 0; i < 20; ++i) plan.arrivals.push_back(0.01 * i);
  const LoadOutcome outcome = load_server(server, plan, TextPrompts(20));
  ASSERT_EQ(outcome.logs.size(), 20u);
  for (int i = 0; i < 20; ++i) {
    const RequestLog& log = outcome.logs[static_cast<std::size_t>(i)];
    EXPECT_DOUBLE_EQ(log.scheduled, 0.01 * i);
    EXPECT_DOUBLE_EQ(log.due, log.scheduled);
    EXPECT_GE(log.sent, log.scheduled);
    EXPECT_TRUE(log.succeeded()) << log.error;
  }
}

TEST(LoadRun, ACapOnARateShowsTheQueue) {
  ScriptedServer server([](ScriptedClient& client, int, const std::string&) {
    client.wait(0.05);
    answer_well(client);
  });
  LoadPlan plan;
  plan.arrivals = {0, 0, 0, 0};
  plan.max_concurrency = 1;
  const LoadOutcome outcome = load_server(server, plan, TextPrompts(4));
  const RequestLog& last = outcome.logs[3];
  EXPECT_EQ(last.scheduled, 0);
  EXPECT_GE(last.due, 0.15);
  EXPECT_GE(last.sent, last.due);
}

TEST(LoadRun, ALaterTurnCarriesWhatWasSaid) {
  std::vector<std::string> bodies;
  LoadPlan plan = closed_loop(1);
  plan.request.api = Api::chat;
  ScriptedServer chat([&](ScriptedClient& client, int, const std::string& body) {
    bodies.push_back(body);
    client.begin_stream();
    client.event(R"({"choices":[{"delta":{"content":"answer"}}]})");
    client.end_stream();
  });
  const LoadOutcome outcome = load_server(chat, plan, TextPrompts(3, true));
  ASSERT_EQ(bodies.size(), 3u);
  const auto messages = Json::parse(bodies[2])["messages"];
  std::vector<std::string> contents;
  for (const auto& message : messages) contents.push_back(message["content"]);
  EXPECT_THAT(contents, ElementsAre("question 0", "answer", "question 1", "answer", "question 2"));
  EXPECT_GE(outcome.logs[1].scheduled, outcome.logs[0].end + 0.049);
}

TEST(LoadRun, WhatAServerNeverAcceptsIsUnconnected) {
  std::vector<Endpoint> targets(1);
  {
    ScriptedServer server([](ScriptedClient&, int, const std::string&) {});
    targets[0] = *find_endpoint(*parse_url(server.url()), false);
  }
  const auto outcome = run_load(closed_loop(2), TextPrompts(4), targets, nullptr, nullptr);
  ASSERT_EQ(outcome->logs.size(), 4u);
  for (const RequestLog& log : outcome->logs) EXPECT_EQ(log.reply_end, ReplyEnd::unconnected);
}

TEST(LoadRun, AStopEndsWhatIsInFlight) {
  ScriptedServer server([](ScriptedClient& client, int, const std::string&) {
    client.begin_stream();
    client.token("a");
    client.wait_for_close();
  });
  auto endpoint = find_endpoint(*parse_url(server.url()), false);
  std::uint64_t events = 0;
  const auto outcome = run_load(
      closed_loop(3), TextPrompts(9), {*endpoint}, [&] { return events == 3; },
      [&](const LoadState& state) { events = state.events; });
  EXPECT_TRUE(outcome->interrupted);
  ASSERT_EQ(outcome->logs.size(), 3u);
  EXPECT_EQ(outcome->logs[0].reply_end, ReplyEnd::unfinished);
  EXPECT_GE(outcome->logs[0].first, 0);
}

}  // namespace
}  // namespace assay
