// The load generator against a scripted server: how it classifies every way a reply can go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "serving/client/flight.h"
#include "support/scripted_load.h"

namespace assay {
namespace {

using testing::HasSubstr;
using ScriptedClient = ScriptedServer::Client;

/// The log of one request whose reply is `reply`. A second request gets a good reply.
RequestLog log_of(const std::function<void(ScriptedClient&)>& reply,
                  LoadPlan plan = closed_loop(1)) {
  ScriptedServer server([&](ScriptedClient& client, int number, const std::string&) {
    // The connection made to find the server sends nothing.
    if (number == 0) return reply(client);
    answer_well(client);
  });
  const LoadOutcome outcome = load_server(server, std::move(plan), TextPrompts(2));
  EXPECT_EQ(outcome.logs.size(), 2u);
  EXPECT_TRUE(outcome.logs[1].succeeded()) << outcome.logs[1].error;
  EXPECT_EQ(outcome.logs[1].output_tokens, 3u);
  return outcome.logs[0];
}

TEST(LoadReplies, AWholeReplyIsTimedAndCounted) {
  const RequestLog log = log_of([](ScriptedClient& client) {
    client.begin_stream();
    client.wait(0.02);
    client.token("a");
    client.wait(0.03);
    client.token("b");
    client.usage(5, 2);
    client.end_stream();
  });
  EXPECT_TRUE(log.succeeded());
  EXPECT_GE(log.first - log.sent, 0.02);
  ASSERT_EQ(log.gaps.size(), 1u);
  EXPECT_GE(log.gaps[0], 0.029);
  EXPECT_TRUE(log.counted);
  EXPECT_EQ(log.prompt_tokens, 5u);
  EXPECT_EQ(log.output_tokens, 2u);
  EXPECT_LE(log.last, log.end);
}

TEST(LoadReplies, AResetWithinAReplyIsBroken) {
  const RequestLog log = log_of([](ScriptedClient& client) {
    client.begin_stream();
    client.token("a");
    client.wait(0.02);
    client.reset();
  });
  EXPECT_EQ(log.reply_end, ReplyEnd::broken);
  EXPECT_GE(log.first, 0);
  EXPECT_FALSE(log.error.empty());
}

TEST(LoadReplies, AnEndWithinAReplyIsBroken) {
  const RequestLog log = log_of([](ScriptedClient& client) {
    client.begin_stream();
    client.token("a");
    client.close();
  });
  EXPECT_EQ(log.reply_end, ReplyEnd::broken);
  EXPECT_THAT(log.error, HasSubstr("closed the connection within its reply"));
}

TEST(LoadReplies, OtherStatusesAreRefusalsWithTheServersWords) {
  for (const auto& [status, text] : {std::pair(429, "Too Many"), std::pair(503, "overloaded")}) {
    const RequestLog log = log_of([&](ScriptedClient& client) {
      const std::string body = fmt::format(R"({{"error":{{"message":"{}"}}}})", text);
      client.say(fmt::format("HTTP/1.1 {} x\r\nRetry-After: 1\r\nContent-Length: {}\r\n\r\n{}",
                             status, body.size(), body));
    });
    EXPECT_EQ(log.reply_end, ReplyEnd::refused);
    EXPECT_EQ(log.error, fmt::format("HTTP {}: {}", status, text));
  }
}

TEST(LoadReplies, AServerThatFallsSilentIsGivenUp) {
  LoadPlan plan = closed_loop(1);
  plan.silence_seconds = 2;
  const auto falls_silent = [](ScriptedClient& client) {
    client.begin_stream();
    client.token("a");
    client.token("b");
    client.wait_for_close();
  };
  const RequestLog log = log_of(falls_silent, std::move(plan));
  EXPECT_EQ(log.reply_end, ReplyEnd::silent);
  EXPECT_GE(log.first, 0);
  EXPECT_EQ(log.output_tokens, 2u);
  EXPECT_EQ(log.prompt_tokens, log.prompt_asked);
}

TEST(LoadReplies, CommentsAreNoSignOfLife) {
  LoadPlan plan = closed_loop(1);
  plan.silence_seconds = 2;
  const RequestLog log = log_of(
      [](ScriptedClient& client) {
        client.begin_stream();
        for (int i = 0; i < 200 && !client.hung_up(); ++i) {
          client.chunk(": ping\n\n");
          client.wait(0.1);
        }
        client.close();
      },
      std::move(plan));
  EXPECT_EQ(log.reply_end, ReplyEnd::silent);
}

TEST(LoadReplies, ARequestHasATimeInAll) {
  LoadPlan plan = closed_loop(1);
  plan.request_seconds = 2;
  const RequestLog log = log_of(
      [](ScriptedClient& client) {
        client.begin_stream();
        client.token("a");
        for (int i = 0; i < 200 && !client.hung_up(); ++i) {
          client.event(R"({"choices":[]})");
          client.wait(0.1);
        }
        client.close();
      },
      std::move(plan));
  EXPECT_EQ(log.reply_end, ReplyEnd::unfinished);
  EXPECT_EQ(log.error, "not complete after 2 s");
  EXPECT_EQ(log.output_tokens, 1u);
}

TEST(LoadReplies, AStreamWithoutEndIsCutOff) {
  const RequestLog log = log_of([](ScriptedClient& client) {
    client.begin_stream();
    for (int i = 0; i < 1'000'000 && !client.hung_up(); ++i) client.token("a");
    client.close();
  });
  EXPECT_EQ(log.reply_end, ReplyEnd::malformed);
  EXPECT_EQ(log.error, "its stream goes on after twice the 3 tokens asked for");
  EXPECT_LT(log.gaps.size(), 10'000u);
}

TEST(LoadReplies, ImpossibleCountsOfTokensAreNotBelieved) {
  const auto counted = [](std::int64_t prompt, std::int64_t output, LoadPlan plan) {
    return log_of(
        [&](ScriptedClient& client) {
          client.begin_stream();
          client.token("a");
          client.token("b");
          client.event(fmt::format(
              R"({{"choices":[],"usage":{{"prompt_tokens":{},"completion_tokens":{}}}}})", prompt,
              output));
          client.end_stream();
        },
        std::move(plan));
  };
  const RequestLog more = counted(5, 1'000'000'000, closed_loop(1));
  EXPECT_EQ(more.reply_end, ReplyEnd::malformed);
  EXPECT_EQ(more.error, "the server counts 1000000000 tokens in its reply; asked for were 3");
  LoadPlan wide = closed_loop(1);
  wide.request.extra = {{"max_tokens", 2'000'000'000}};
  const RequestLog dense = counted(5, 1'000'000'000, wide);
  EXPECT_EQ(dense.reply_end, ReplyEnd::malformed);
  EXPECT_THAT(dense.error, HasSubstr("counts 1000000000 tokens in its reply of "));
  const RequestLog prompt = counted(1'000'000'000, 2, closed_loop(1));
  EXPECT_EQ(prompt.reply_end, ReplyEnd::malformed);
  EXPECT_THAT(prompt.error, HasSubstr("counts 1000000000 tokens in a request of "));
  EXPECT_TRUE(counted(200, 3, closed_loop(1)).succeeded());  // a template's tokens are many
}

TEST(LoadReplies, InterimStatusesAreSkipped) {
  const RequestLog log = log_of([](ScriptedClient& client) {
    client.say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    client.wait(0.02);
    client.say("HTTP/1.1 103 Early Hints\r\nLink: </b>\r\n\r\n");
    answer_well(client);
  });
  EXPECT_TRUE(log.succeeded()) << log.error;
  EXPECT_EQ(log.status, 200);
  EXPECT_EQ(log.output_tokens, 3u);
}

TEST(LoadReplies, ACharacterInTwoChunksIsOneText) {
  const RequestLog log = log_of([](ScriptedClient& client) {
    client.begin_stream();
    client.chunk("data: {\"choices\":[{\"text\":\"\xe2\x82");
    client.wait(0.01);
    client.chunk("\xac\"}]}\n\n");
    client.usage(5, 1);
    client.end_stream();
  });
  EXPECT_TRUE(log.succeeded()) << log.error;
  EXPECT_EQ(log.output_tokens, 1u);
}

TEST(LoadReplies, EventsCountHoweverTheyAreCut) {
  const std::string token = R"(data: {"choices":[{"text":"x"}]})";
  const RequestLog merged = log_of([&](ScriptedClient& client) {
    client.begin_stream();
    client.chunk(token + "\n\n" + token + "\r\n\r\n" + token + "\n\n");
    client.usage(5, 3);
    client.end_stream();
  });
  EXPECT_EQ(merged.gaps.size(), 2u);
  const RequestLog split = log_of([&](ScriptedClient& client) {
    client.begin_stream();
    const std::string chunk = fmt::format("{:x}\r\n{}\n\n\r\n", token.size() + 2, token);
    for (std::size_t at = 0; at < chunk.size(); at += 4) {
      client.say(chunk.substr(at, 4));
      client.wait(0.001);
    }
    client.usage(5, 1);
    client.end_stream();
  });
  EXPECT_TRUE(split.succeeded()) << split.error;
  EXPECT_EQ(split.gaps.size(), 0u);
  EXPECT_EQ(split.output_tokens, 1u);
}

TEST(LoadReplies, AStreamWithoutItsEndMarkIsUnfinished) {
  const RequestLog log = log_of([](ScriptedClient& client) {
    client.begin_stream();
    client.token("a");
    client.say("0\r\n\r\n");
  });
  EXPECT_EQ(log.reply_end, ReplyEnd::unfinished);
  EXPECT_THAT(log.error, HasSubstr("[DONE]"));
}

TEST(LoadReplies, WithoutUsageEventsStandForTokens) {
  const RequestLog log = log_of([](ScriptedClient& client) {
    client.begin_stream();
    client.token("a");
    client.token("b");
    client.end_stream();
  });
  EXPECT_TRUE(log.succeeded());
  EXPECT_FALSE(log.counted);
  EXPECT_EQ(log.output_tokens, 2u);
}

TEST(LoadReplies, ALineOfTenMegabytesIsRead) {
  const RequestLog log = log_of([](ScriptedClient& client) {
    client.begin_stream();
    client.token(std::string(10 << 20, 'x'));
    client.usage(5, 1);
    client.end_stream();
  });
  EXPECT_TRUE(log.succeeded()) << log.error;
  EXPECT_EQ(log.output_tokens, 1u);
}

TEST(LoadReplies, AReplyWithoutATokenIsEmpty) {
  const RequestLog log = log_of([](ScriptedClient& client) {
    client.begin_stream();
    client.usage(5, 0);
    client.end_stream();
  });
  EXPECT_TRUE(log.empty());
  EXPECT_FALSE(log.succeeded());
}

TEST(LoadReplies, NonsenseIsMalformed) {
  for (const char* nonsense : {"data: {\"choices\":[\n\n", "data: no json\n\n"}) {
    const RequestLog log = log_of([&](ScriptedClient& client) {
      client.begin_stream();
      client.token("a");
      client.chunk(nonsense);
      client.end_stream();
    });
    EXPECT_EQ(log.reply_end, ReplyEnd::malformed);
  }
  const RequestLog log = log_of([](ScriptedClient& client) {
    client.say("SSH-2.0-OpenSSH_9.2\r\n\r\n");
    client.close();
  });
  EXPECT_EQ(log.reply_end, ReplyEnd::malformed);
}

TEST(LoadReplies, AnErrorWithinAStreamIsARefusal) {
  const RequestLog log = log_of([](ScriptedClient& client) {
    client.begin_stream();
    client.token("a");
    client.event(R"({"error":{"message":"engine died","code":500}})");
    client.end_stream();
  });
  EXPECT_EQ(log.reply_end, ReplyEnd::refused);
  EXPECT_EQ(log.error, "engine died");
}

TEST(LoadReplies, ARoleIsNoToken) {
  LoadPlan plan = closed_loop(1);
  plan.request.api = Api::chat;
  const RequestLog log = log_of(
      [](ScriptedClient& client) {
        client.begin_stream();
        client.event(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})");
        client.wait(0.05);
        client.event(R"({"choices":[{"delta":{"content":"a"}}]})");
        client.event(R"({"choices":[{"delta":{},"finish_reason":"stop"}]})");
        client.usage(5, 2);
        client.end_stream();
      },
      plan);
  EXPECT_GE(log.first - log.sent, 0.05);
  EXPECT_EQ(log.gaps.size(), 0u);
  EXPECT_EQ(log.finish_reason, "stop");
}

TEST(LoadReplies, AReplyThatIsNotStreamedIsRead) {
  LoadPlan plan = closed_loop(1);
  plan.request.stream = false;
  ScriptedServer server([](ScriptedClient& client, int, const std::string&) {
    const std::string body =
        R"({"choices":[{"text":"abc","finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":3}})";
    client.say(fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body));
  });
  const LoadOutcome outcome = load_server(server, plan, TextPrompts(1));
  EXPECT_TRUE(outcome.logs[0].succeeded());
  EXPECT_EQ(outcome.logs[0].output_tokens, 3u);
}

/// What the server says of a reply beside its text.
RequestLog log_of_chat(const std::vector<std::string>& deltas, std::string_view usage) {
  LoadPlan plan = closed_loop(1);
  plan.request.api = Api::chat;
  ScriptedServer server([&](ScriptedClient& client, int, const std::string&) {
    client.begin_stream();
    for (const std::string& delta : deltas) {
      client.event(fmt::format(R"({{"choices":[{{"delta":{}}}]}})", delta));
    }
    client.event(fmt::format(R"({{"choices":[],"usage":{}}})", usage));
    client.end_stream();
  });
  return load_server(server, std::move(plan), TextPrompts(1)).logs.at(0);
}

TEST(LoadReplies, TokensThatAreCountedAndNotSentAreKnown) {
  const std::string usage =
      R"({"prompt_tokens":5,"completion_tokens":3,"completion_tokens_details":{"reasoning_tokens":2}})";
  const RequestLog hidden = log_of_chat({R"({"content":"abc"})"}, usage);
  EXPECT_TRUE(hidden.succeeded()) << hidden.error;
  EXPECT_EQ(hidden.hidden_tokens, 2u);
  EXPECT_EQ(hidden.output_bytes, 3u);
  const RequestLog sent =
      log_of_chat({R"({"reasoning_content":"so"})", R"({"content":"abc"})",
                   R"({"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]})"},
                  usage);
  EXPECT_TRUE(sent.succeeded()) << sent.error;
  EXPECT_EQ(sent.hidden_tokens, 0u);
  EXPECT_EQ(sent.output_bytes, 8u);
}

/// A chat's template makes up for what the prompt lacks of the length that was asked for.
TEST(LoadReplies, TokensOfATemplateArePartOfThePrompt) {
  LoadPlan plan = closed_loop(1);
  plan.template_tokens = 15;
  const RequestLog log = log_of(answer_well, plan);
  EXPECT_EQ(log.prompt_asked, 20u);  // the prompt's own are 5
}

TEST(LoadReplies, WhatFollowsTheEndMarkIsNoPartOfTheReply) {
  const RequestLog log = log_of([](ScriptedClient& client) {
    client.begin_stream();
    client.token("a");
    client.usage(5, 1);
    client.chunk("data: [DONE]\n\n");
    client.token("b");
    client.usage(5, 3);
    client.say("0\r\n\r\n");
  });
  EXPECT_TRUE(log.succeeded());
  EXPECT_EQ(log.gaps.size(), 0u);
  EXPECT_EQ(log.output_tokens, 1u);
}

TEST(LoadReplies, WhatOnlyOpensOrClosesAReplyIsNoToken) {
  const RequestLog log = log_of([](ScriptedClient& client) {  // as llama.cpp's server does
    client.begin_stream();
    client.token("a");
    client.token("b");
    client.event(
        R"({"choices":[{"text":"","finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":2}})");
    client.end_stream();
  });
  EXPECT_EQ(log.gaps.size(), 1u);
  EXPECT_EQ(log.output_tokens, 2u);
  EXPECT_EQ(log.finish_reason, "length");
}

}  // namespace
}  // namespace assay
