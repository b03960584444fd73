// What clients may ask of the simulated server, and what they are told if they ask wrongly.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "core/json.h"
#include "serving/client/reply_event.h"
#include "serving/server/generation_request.h"
#include "serving/server/histogram.h"
#include "serving/server/reply_format.h"
#include "serving/server/stop_texts.h"
#include "serving/simulator/faults.h"
#include "serving/simulator/simulated_text.h"

namespace assay::simulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

GenerationRequest parsed(std::string_view body, Dialect dialect = Dialect::completions) {
  const auto request = parse_generation(body, dialect, SimulatedText());
  EXPECT_TRUE(request.ok()) << body << ": " << (request.ok() ? "" : request.error().message);
  return request.ok() ? *request : GenerationRequest{};
}

std::string problem_of(std::string_view body, Dialect dialect = Dialect::completions) {
  const auto request = parse_generation(body, dialect, SimulatedText());
  EXPECT_FALSE(request.ok()) << body;
  return request.ok() ? "" : request.error().message;
}

TEST(SimRequest, PromptsAreTextsOrIdsOrListsOfThem) {
  EXPECT_THAT(parsed(R"({"prompt":[5,6,7]})").prompts, ElementsAre(ElementsAre(5, 6, 7)));
  EXPECT_TRUE(parsed(R"({"prompt":[5]})").ids);
  EXPECT_THAT(parsed(R"({"prompt":[[5,6],[7]]})").prompts,
              ElementsAre(ElementsAre(5, 6), ElementsAre(7)));
  const auto text = parsed(R"({"prompt":"abcdefgh"})");
  EXPECT_EQ(text.prompts.at(0).size(), 2u);
  EXPECT_FALSE(text.ids);
  EXPECT_EQ(parsed(R"({"prompt":["abcd","efgh"]})").prompts.size(), 2u);
  EXPECT_EQ(parsed(R"({"prompt":["abcd",7]})", Dialect::llama_cpp).prompts.size(), 1u);
  EXPECT_EQ(parsed(R"({"inputs":"abcde"})", Dialect::tgi).prompts.at(0).size(), 2u);
}

/// Which of them begin a prompt is not known.
TEST(SimRequest, AListOfPromptsDoesNotMixThem) {
  for (const char* list : {R"([1,2,"a"])", R"(["a",1])", R"([[1],2])", R"([1,[2]])", R"(["a",[1]])",
                           R"([[1],"a"])", R"([[],1])"}) {
    EXPECT_EQ(problem_of(fmt::format(R"({{"prompt":{}}})", list)),
              "field \"prompt\" allows, in one list, only what its first element is")
        << list;
  }
  EXPECT_EQ(parsed(R"({"prompt":[7,"abcd"]})", Dialect::llama_cpp).prompts.size(), 1u);
}

TEST(SimRequest, FieldsOfOpenAi) {
  const auto request = parsed(
      R"({"model":"m","prompt":[1],"stream":true,"max_tokens":7,"min_tokens":7,"ignore_eos":true,
          "stream_options":{"include_usage":true,"continuous_usage_stats":true},"sim_stamps":true,
          "logit_bias":{"prompt":[[[1]]],"max_tokens":9},"temperature":0.5,"stop":null})");
  EXPECT_EQ(request.model, "m");
  EXPECT_TRUE(request.stream && request.include_usage && request.continuous_usage);
  EXPECT_TRUE(request.ignore_eos && request.stamps);
  EXPECT_EQ(request.max_tokens, 7u);
  EXPECT_EQ(request.min_tokens, 7u);
  EXPECT_THAT(request.prompts, ElementsAre(ElementsAre(1)));
  const auto plain = parsed(R"({"prompt":[1]})");
  EXPECT_FALSE(plain.stamps || plain.stream || plain.include_usage || plain.continuous_usage ||
               plain.max_tokens);
}

/// What is ignored without a word would be another reply than the one that was asked for.
TEST(SimRequest, WhatIsNotDoneIsNamed) {
  const auto unsupported = [](const std::string& field, Dialect dialect = Dialect::completions) {
    const char* prompt = dialect == Dialect::tgi ? R"("inputs":"a")"
                         : dialect == Dialect::chat
                             ? R"("messages":[{"role":"user","content":"a"}])"
                             : R"("prompt":[1])";
    return parsed(fmt::format("{{{},{}}}", prompt, field), dialect).unsupported;
  };
  for (const char* field :
       {R"("guided_json":{"type":"object"})", R"("guided_choice":["a","b"])",
        R"("structured_outputs":{"regex":"a"})", R"("bad_words":["a"])", R"("prompt_logprobs":1)",
        R"("use_beam_search":true)", R"("truncate_prompt_tokens":5)",
        R"("add_special_tokens":false)", R"("chat_template":"x")",
        R"("chat_template_kwargs":{"enable_thinking":false})", R"("add_generation_prompt":false)",
        R"("tool_choice":"required")", R"("modalities":["text","audio"])",
        R"("length_penalty":0.5)"}) {
    const std::string name = std::string(field).substr(1, std::string(field).find(':') - 2);
    EXPECT_EQ(unsupported(field), name);
  }
  for (const char* field :
       {R"("guided_json":null)", R"("bad_words":[])", R"("use_beam_search":false)",
        R"("add_special_tokens":true)", R"("chat_template_kwargs":{})", R"("tool_choice":"auto")",
        R"("modalities":["text"])", R"("length_penalty":1.0)", R"("user":"x")"}) {
    EXPECT_EQ(unsupported(field), "") << field;
  }
  EXPECT_EQ(unsupported(R"("parameters":{"watermark":true})", Dialect::tgi), "watermark");
  EXPECT_EQ(unsupported(R"("parameters":{"truncate":7})", Dialect::tgi), "truncate");
  EXPECT_EQ(unsupported(R"("parameters":{"details":true,"watermark":false})", Dialect::tgi), "");
  const auto of_messages = [](const std::string& message) {
    return parsed(fmt::format(R"({{"messages":[{}]}})", message), Dialect::chat).unsupported;
  };
  EXPECT_EQ(of_messages(R"({"role":"user","content":[{"type":"text","text":"a"},
                           {"type":"image_url","image_url":{"url":"x"}}]})"),
            "image_url");
  EXPECT_EQ(of_messages(R"({"role":"user","content":[{"type":"text","text":"a"}]})"), "");
  EXPECT_EQ(of_messages(R"({"role":"assistant","content":"a","tool_calls":[{"id":"1"}]})"),
            "tool_calls");
}

TEST(SimRequest, NumbersAndFlagsAreOfTheirKind) {
  EXPECT_EQ(parsed(R"({"prompt":[1],"seed":7.0})").sampling.seed, 7u);
  EXPECT_EQ(parsed(R"({"prompt":[1],"seed":-7})").sampling.seed, static_cast<std::uint64_t>(-7));
  EXPECT_FALSE(parsed(R"({"prompt":[1],"seed":null,"stream":null})").sampling.seed);
  EXPECT_EQ(parsed(R"({"prompt":[1],"max_tokens":4.0,"n":1.0})").max_tokens, 4u);
  for (const char* field :
       {R"("seed":"7")", R"("seed":7.5)", R"("seed":18446744073709551616)", R"("seed":true)",
        R"("n":2.0)", R"("n":"1")", R"("n":-1)", R"("n":true)", R"("n":0)", R"("best_of":2.0)",
        R"("stream":1)", R"("stream":"true")", R"("stream":[true])", R"("ignore_eos":1)",
        R"("min_tokens":-1)", R"("min_tokens":"2")", R"("stream_options":{"include_usage":1})"}) {
    EXPECT_THAT(problem_of(fmt::format(R"({{"prompt":[1],{}}})", field)), HasSubstr("allows"))
        << field;
  }
  EXPECT_THAT(problem_of(R"({"prompt":"aaaa","prompt":"b"})"), HasSubstr("given twice"));
}

TEST(SimRequest, TextsToStopAt) {
  EXPECT_THAT(parsed(R"({"prompt":[1],"stop":"END"})").stops, ElementsAre("END"));
  EXPECT_THAT(parsed(R"({"prompt":[1],"stop":["a","b c"]})").stops, ElementsAre("a", "b c"));
  EXPECT_THAT(parsed(R"({"prompt":"x","stop":["a"]})", Dialect::llama_cpp).stops, ElementsAre("a"));
  EXPECT_THAT(parsed(R"({"messages":[{"role":"user","content":"hi","stop":"no"}],"stop":"a"})",
                     Dialect::chat)
                  .stops,
              ElementsAre("a"));
  EXPECT_THAT(
      parsed(R"({"inputs":"x","parameters":{"stop":["a","b"]},"stop":"no"})", Dialect::tgi).stops,
      ElementsAre("a", "b"));
  EXPECT_TRUE(parsed(R"({"prompt":[1],"stop":null})").stops.empty());
  EXPECT_TRUE(parsed(R"({"prompt":[1],"stop":[]})").stops.empty());
  EXPECT_THAT(parsed(R"({"inputs":"x","parameters":{"stop":"a"}})", Dialect::tgi).stops,
              ElementsAre("a"));
  EXPECT_TRUE(parsed(R"({"prompt":[1],"other":{"stop":["a"]}})").stops.empty());
  EXPECT_TRUE(
      parsed(R"({"inputs":"x","parameters":{"x":{"stop":"a"}}})", Dialect::tgi).stops.empty());
  for (const std::string& stop :
       {std::string(R"("")"), std::string(R"([""])"), '"' + std::string(1025, 'x') + '"',
        std::string("5"), std::string("-1"), std::string("0.5"), std::string("true"),
        std::string("[1]"), std::string("[null]"), std::string(R"([["a"]])"),
        std::string(R"({"x":"y"})"), std::string(R"([{"x":"y"}])")}) {
    EXPECT_THAT(
        problem_of(R"({"prompt":[1],"stop":)" + stop + "}"),
        HasSubstr("field \"stop\" allows a text or a list of them, at most 16 of 1 to 1024"));
  }
  std::string many = R"({"prompt":[1],"stop":["a")";
  for (int i = 0; i < 16; ++i) many += ",\"a\"";
  EXPECT_THAT(problem_of(many + "]}"), HasSubstr("\"stop\""));
}

TEST(SimRequest, NumbersAreNumbers) {
  for (const char* field : {"temperature", "top_p", "max_tokens"}) {
    for (const char* value : {R"("hot")", "true", "{}", "[1]"}) {
      EXPECT_THAT(problem_of(fmt::format(R"({{"prompt":[1],"{}":{}}})", field, value)),
                  HasSubstr(fmt::format("field \"{}\" allows a number", field)));
    }
    parsed(fmt::format(R"({{"prompt":[1],"{}":null}})", field));
  }
  EXPECT_THAT(problem_of(R"({"prompt":[1],"max_tokens":-1})"), HasSubstr("at least 1"));
  EXPECT_FALSE(parsed(R"({"prompt":"x","n_predict":-1})", Dialect::llama_cpp).max_tokens);
}

TEST(SimRequest, WhatAsksForMoreThanTokens) {
  const auto beyond = [](std::string field, Dialect dialect = Dialect::completions) {
    return parsed(R"({"prompt":[1],)" + field + "}", dialect).unsupported;
  };
  EXPECT_EQ(beyond(R"("logprobs":0)", Dialect::llama_cpp), "logprobs");
  EXPECT_EQ(beyond(R"("logprobs":true)", Dialect::llama_cpp), "logprobs");
  EXPECT_EQ(beyond(R"("top_logprobs":2)"), "top_logprobs");
  EXPECT_EQ(beyond(R"("echo":true)"), "echo");
  EXPECT_EQ(beyond(R"("suffix":"x")"), "suffix");
  EXPECT_EQ(beyond(R"("tools":[{"type":"function"}])"), "tools");
  EXPECT_EQ(beyond(R"("functions":[{}])"), "functions");
  EXPECT_EQ(beyond(R"("response_format":{"type":"json_object"})"), "response_format");
  EXPECT_EQ(beyond(R"("logit_bias":{"50256":-100})"), "logit_bias");
  EXPECT_EQ(beyond(R"("stop_token_ids":[2])"), "stop_token_ids");
  EXPECT_EQ(beyond(R"("include_stop_str_in_output":true)"), "include_stop_str_in_output");
  EXPECT_EQ(beyond(R"("logit_bias":[[5,1.0]])", Dialect::llama_cpp), "logit_bias");
  EXPECT_EQ(beyond(R"("repeat_penalty":1.1)", Dialect::llama_cpp), "repeat_penalty");
  EXPECT_EQ(beyond(R"("grammar":"root ::= x")", Dialect::llama_cpp), "grammar");
  EXPECT_EQ(beyond(R"("json_schema":{})", Dialect::llama_cpp), "json_schema");
  EXPECT_EQ(beyond(R"("n_probs":5)", Dialect::llama_cpp), "n_probs");
  EXPECT_EQ(parsed(R"({"inputs":"x","parameters":{"grammar":{"type":"json"}}})", Dialect::tgi)
                .unsupported,
            "grammar");
  const char* usual = R"("logprobs":null,"echo":false,"suffix":"","tools":[],"functions":null,
      "response_format":{"type":"text"},"logit_bias":{},"presence_penalty":0,"frequency_penalty":0.0,
      "repetition_penalty":1.0,"top_k":-1,"min_p":0,"temperature":1,"stop_token_ids":[],"top_logprobs":0,"user":"logprobs")";
  EXPECT_EQ(beyond(usual), "");
}

TEST(Requests, SayWhichLogProbabilitiesTheyWant) {
  const auto of_completion = [](const std::string& field) {
    return parsed(R"({"prompt":[1],)" + field + "}", Dialect::completions).logprobs;
  };
  EXPECT_EQ(of_completion(R"("logprobs":null)"), std::nullopt);
  EXPECT_EQ(of_completion(R"("logprobs":0)"), 0u);
  EXPECT_EQ(of_completion(R"("logprobs":20)"), 20u);
  EXPECT_EQ(of_completion(R"("logprobs":3.0)"), 3u);
  const auto of_chat = [](const std::string& fields) {
    return R"({"messages":[{"role":"user","content":"a"}],)" + fields + "}";
  };
  const auto in_chat = [&](const std::string& fields) {
    return parsed(of_chat(fields), Dialect::chat).logprobs;
  };
  EXPECT_EQ(in_chat(R"("logprobs":true)"), 0u);
  EXPECT_EQ(in_chat(R"("top_logprobs":5,"logprobs":true)"), 5u);
  EXPECT_EQ(in_chat(R"("logprobs":false)"), std::nullopt);
  EXPECT_EQ(in_chat(R"("logprobs":false,"top_logprobs":0)"), std::nullopt);
  for (const char* field : {R"("logprobs":21)", R"("logprobs":-1)"}) {
    EXPECT_EQ(problem_of(R"({"prompt":[1],)" + std::string(field) + "}"),
              "field \"logprobs\" allows between 0 and 20");
  }
  EXPECT_THAT(problem_of(R"({"prompt":[1],"logprobs":true})"), HasSubstr("allows a number"));
  EXPECT_EQ(problem_of(of_chat(R"("logprobs":true,"top_logprobs":21)"), Dialect::chat),
            "field \"top_logprobs\" allows between 0 and 20");
  EXPECT_EQ(problem_of(of_chat(R"("logprobs":2)"), Dialect::chat),
            "field \"logprobs\" allows true or false");
  EXPECT_EQ(problem_of(of_chat(R"("top_logprobs":2)"), Dialect::chat),
            "field \"top_logprobs\" needs \"logprobs\": true");
}

TEST(Requests, SayHowTokensAreDrawn) {
  const server::Sampling how =
      parsed(R"({"prompt":[1],"temperature":0.7,"top_p":0.9,"top_k":50,"min_p":0.1,"seed":5,
                 "presence_penalty":0.5,"frequency_penalty":-1,"repetition_penalty":1.1})",
             Dialect::completions)
          .sampling;
  EXPECT_EQ(how.temperature, 0.7);
  EXPECT_EQ(how.top_p, 0.9);
  EXPECT_EQ(how.top_k, 50u);
  EXPECT_EQ(how.min_p, 0.1);
  EXPECT_EQ(how.seed, 5u);
  EXPECT_EQ(how.presence_penalty, 0.5);
  EXPECT_EQ(how.frequency_penalty, -1);
  EXPECT_EQ(how.repetition_penalty, 1.1);
  EXPECT_TRUE(how.penalizes());
  for (const char* wrong :
       {R"("min_p":1.5)", R"("presence_penalty":2.5)", R"("frequency_penalty":-3)",
        R"("repetition_penalty":0)", R"("repetition_penalty":-1)"}) {
    EXPECT_THAT(problem_of(std::string(R"({"prompt":[1],)") + wrong + "}"), HasSubstr("between"));
  }
}

TEST(StopTexts, ComeInPiecesAndAreNotPassedOn) {
  const auto read = [](std::vector<std::string> stops, const std::vector<std::string>& pieces) {
    server::StopTexts texts(std::move(stops));
    std::string told;
    for (const std::string& piece : pieces) {
      told += '|';
      if (texts.take(piece, piece != "early", told)) return told + "|stop";
    }
    told += '|';
    texts.end(told);
    return told;
  };
  EXPECT_EQ(read({"END"}, {"a", "b"}), "|a|b|");
  EXPECT_EQ(read({"END"}, {"xENDy"}), "|x|stop");
  EXPECT_EQ(read({"END"}, {"aE", "N", "Dz"}), "|a|||stop");
  EXPECT_EQ(read({"END"}, {"aE", "NE", "ND"}), "|a|EN||stop");
  EXPECT_EQ(read({"END"}, {"aEN"}), "|a|EN") << "nothing follows";
  EXPECT_EQ(read({"rl", "lyx"}, {"early", "x"}), "|ear||stop") << "began before it may end";
  EXPECT_EQ(read({"aab"}, {"aaa", "ab"}), "|a|a|stop");
  EXPECT_EQ(read({"later", "l"}, {"a la"}), "|a |stop");
  EXPECT_EQ(read({"bc", "cde"}, {"abcde"}), "|a|stop") << "the first in the text";
  EXPECT_EQ(read({"\xc3\xa9"}, {"x\xc3\xa8", "\xc3\xa9"}), "|x\xc3\xa8||stop");
}

TEST(SimRequest, ChatsCountTheirTextsAndTheTemplate) {
  const std::string body = R"({"messages":[{"role":"system","content":"abcd"},
      {"role":"user","content":[{"type":"text","text":"abcdefgh"}]}],"max_completion_tokens":3})";
  const auto chat = parsed(body, Dialect::chat);
  EXPECT_EQ(chat.prompts.at(0).size(), 4u + 1 + 4 + 2);
  EXPECT_EQ(chat.max_tokens, 3u);
  // A longer conversation begins with the shorter one's tokens: its prefix is cached.
  const auto longer = parsed(
      R"({"messages":[{"role":"system","content":"abcd"},{"role":"user","content":"abcdefgh"},
          {"role":"assistant","content":"xyz"}]})",
      Dialect::chat);
  EXPECT_TRUE(
      std::equal(chat.prompts[0].begin(), chat.prompts[0].end(), longer.prompts.at(0).begin()));
}

TEST(SimRequest, LimitsOfTheOtherDialects) {
  EXPECT_EQ(parsed(R"({"prompt":"a","n_predict":5})", Dialect::llama_cpp).max_tokens, 5u);
  EXPECT_FALSE(parsed(R"({"prompt":"a","n_predict":-1})", Dialect::llama_cpp).max_tokens);
  EXPECT_EQ(parsed(R"({"inputs":"a","parameters":{"max_new_tokens":6}})", Dialect::tgi).max_tokens,
            6u);
}

TEST(SimRequest, ErrorsNameTheField) {
  EXPECT_THAT(problem_of(""), HasSubstr("not JSON"));
  EXPECT_THAT(problem_of(R"({"prompt":[1,2)"), HasSubstr("not JSON"));
  EXPECT_THAT(problem_of("[1]"), HasSubstr("JSON object"));
  EXPECT_THAT(problem_of("3"), HasSubstr("JSON object"));
  EXPECT_THAT(problem_of("{}"), HasSubstr("\"prompt\" is missing"));
  EXPECT_THAT(problem_of(R"({"prompt":null})"), HasSubstr("\"prompt\" is missing"));
  EXPECT_THAT(problem_of(R"({"prompt":""})"), HasSubstr("empty"));
  EXPECT_THAT(problem_of(R"({"prompt":[[1],[]]})"), HasSubstr("empty"));
  EXPECT_THAT(problem_of(R"({"prompt":[-1]})"), HasSubstr("\"prompt\""));
  EXPECT_THAT(problem_of(R"({"prompt":[1.5]})"), HasSubstr("\"prompt\""));
  EXPECT_THAT(problem_of(R"({"prompt":[4294967296]})"), HasSubstr("2^32"));
  EXPECT_THAT(problem_of(R"({"prompt":7})"), HasSubstr("a text, token ids, or lists of them"));
  EXPECT_THAT(problem_of(R"({"prompt":true})"), HasSubstr("\"prompt\""));
  EXPECT_THAT(problem_of(R"({"prompt":{"a":1}})"), HasSubstr("\"prompt\""));
  EXPECT_THAT(problem_of(R"({"prompt":[[[1]]]})"), HasSubstr("\"prompt\""));
  EXPECT_THAT(problem_of(R"({"prompt":[1],"max_tokens":0})"), HasSubstr("\"max_tokens\""));
  EXPECT_THAT(problem_of(R"({"prompt":[1],"max_tokens":99999999999})"),
              HasSubstr("\"max_tokens\""));
  EXPECT_THAT(problem_of(R"({"prompt":[1],"max_tokens":-7})"), HasSubstr("\"max_tokens\""));
  EXPECT_THAT(problem_of(R"({"prompt":[1],"max_tokens":2.5})"), HasSubstr("\"max_tokens\""));
  EXPECT_THAT(problem_of(R"({"prompt":[1],"max_tokens":2,"min_tokens":3})"),
              HasSubstr("min_tokens"));
  EXPECT_THAT(problem_of(R"({"prompt":[1],"n":2})"), HasSubstr("\"n\""));
  EXPECT_THAT(problem_of(R"({"prompt":[1]})", Dialect::chat), HasSubstr("\"messages\""));
  EXPECT_THAT(problem_of(R"({"inputs":[1]})", Dialect::tgi), HasSubstr("\"inputs\""));
  EXPECT_THAT(problem_of(R"({"inputs":["a"]})", Dialect::tgi), HasSubstr("\"inputs\""));
  const std::string deep = R"({"x":)" + std::string(100000, '[');
  EXPECT_THAT(problem_of(deep), HasSubstr("nested"));
  std::string many = R"({"prompt":[[1])";
  for (int i = 0; i < 64; ++i) many += ",[1]";
  EXPECT_THAT(problem_of(many + "]}"), HasSubstr("at most 64"));
}

TEST(SimRequest, TokensOfAText) {
  EXPECT_EQ(tokens_of_prompt(R"({"prompt":"abcdefghi"})", SimulatedText())->size(), 3u);
  EXPECT_FALSE(tokens_of_prompt(R"({"text":"abc"})", SimulatedText()).ok());
}

TEST(SimFaults, SharesAreKept) {
  const auto plan = FaultPlan::parse("reset=0.1,long=0.05,http429=0.2");
  ASSERT_TRUE(plan.ok());
  std::array<int, fault_count> counts{};
  for (std::uint64_t i = 0; i < 20000; ++i) ++counts[static_cast<std::size_t>(plan->of(i, 3))];
  EXPECT_NEAR(counts[static_cast<std::size_t>(Fault::reset)], 2000, 200);
  EXPECT_NEAR(counts[static_cast<std::size_t>(Fault::line)], 1000, 150);
  EXPECT_NEAR(counts[static_cast<std::size_t>(Fault::http429)], 4000, 250);
  EXPECT_NEAR(counts[0], 13000, 400);
  int differ = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(plan->of(i, 3), plan->of(i, 3));
    differ += plan->of(i, 3) != plan->of(i, 4);
  }
  EXPECT_GT(differ, 200);
}

TEST(SimFaults, WithoutAShareTheyDivideWhatIsLeft) {
  const auto one = FaultPlan::parse("short");
  const auto two = FaultPlan::parse("hang=0.5,empty,nodone");
  ASSERT_TRUE(one.ok() && two.ok());
  std::array<int, fault_count> counts{};
  for (std::uint64_t i = 0; i < 10000; ++i) {
    EXPECT_EQ(one->of(i, 0), Fault::cut);
    ++counts[static_cast<std::size_t>(two->of(i, 0))];
  }
  EXPECT_NEAR(counts[static_cast<std::size_t>(Fault::hang)], 5000, 250);
  EXPECT_NEAR(counts[static_cast<std::size_t>(Fault::empty)], 2500, 250);
  EXPECT_NEAR(counts[static_cast<std::size_t>(Fault::nodone)], 2500, 250);
  EXPECT_EQ(FaultPlan().of(5, 5), Fault::none);
}

TEST(SimFaults, ErrorsSayWhatIsAllowed) {
  EXPECT_THAT(FaultPlan::parse("crash").error().message, HasSubstr("reset, http500"));
  EXPECT_THAT(FaultPlan::parse("none").error().message, HasSubstr("reset, http500"));
  for (const char* text : {"", "reset,", "reset=", "reset=2", "reset=-1", "reset=0", "reset=x",
                           "reset=nan", "reset=0.6,hang=0.6"}) {
    EXPECT_FALSE(FaultPlan::parse(text).ok()) << text;
  }
}

TEST(SimHistogram, BucketsAreCumulative) {
  constexpr std::array bounds = {1.0, 2.0};
  server::Histogram histogram(bounds);
  for (const double value : {0.5, 1.0, 1.5, 7.0}) histogram.observe(value);
  std::string page;
  histogram.append("x_seconds", "Of x.", "a=\"b\"", page);
  EXPECT_EQ(page,
            "# HELP x_seconds Of x.\n# TYPE x_seconds histogram\n"
            "x_seconds_bucket{a=\"b\",le=\"1\"} 2\nx_seconds_bucket{a=\"b\",le=\"2\"} 3\n"
            "x_seconds_bucket{a=\"b\",le=\"+Inf\"} 4\n"
            "x_seconds_sum{a=\"b\"} 10\nx_seconds_count{a=\"b\"} 4\n");
}

TEST(SimHistogram, QuantilesOfALagAreWithinTheirBucket) {
  LagRecord lag;
  EXPECT_EQ(lag.quantile(0.99), 0);
  for (int i = 1; i <= 1000; ++i) lag.observe(i * 1e-5);
  EXPECT_NEAR(lag.quantile(0.5), 5e-3, 5e-4);
  EXPECT_NEAR(lag.quantile(0.99), 9.9e-3, 1e-4);
  EXPECT_DOUBLE_EQ(lag.largest(), 1e-2);
  lag.observe(1e6);
  lag.observe(-1);
  EXPECT_DOUBLE_EQ(lag.largest(), 1e6);
}

TEST(SimReplyFormat, TextsAreOneTokenEachAndNeedNoEscapes) {
  for (std::uint64_t number = 1; number < 100; ++number) {
    EXPECT_EQ(token_text(3, number).size(), 4u);
    EXPECT_EQ(token_text(3, number).find_first_of("\"\\\n"), std::string_view::npos);
  }
}

TEST(SimReplyFormat, AChunkOfOpenAi) {
  ReplyFacts facts{9, "m", 1700000000, 12, true, true, false};
  const auto format = make_reply_format(Dialect::completions, facts);
  std::string event;
  TokenEvent fourth;
  fourth.choice = 1;
  fourth.number = 4;
  fourth.text = " abc";
  format->token(fourth, event);
  EXPECT_EQ(event,
            "data: {\"id\":\"cmpl-9\",\"object\":\"text_completion\",\"created\":1700000000,"
            "\"model\":\"m\",\"choices\":[{\"index\":1,\"text\":\" abc\",\"logprobs\":null,"
            "\"finish_reason\":null,\"stop_reason\":null}],\"usage\":{\"prompt_tokens\":12,"
            "\"total_tokens\":16,\"completion_tokens\":4}}\n\n");
}

TEST(SimReplyFormat, EachDialectHasItsWordsForWhyAReplyEnds) {
  const ReplyFacts facts{9, "m", 1700000000, 12, true, false, false};
  const auto words_of = [&](Dialect dialect) {
    std::vector<std::string> words;
    for (const Finish finish : {Finish::length, Finish::end_token, Finish::stop_text}) {
      const std::array choices = {ChoiceText{"abc", 3, {1, 2, 3}, finish}};
      const Json reply = Json::parse(make_reply_format(dialect, facts)->whole(choices, 3));
      words.push_back(reply.contains("choices")   ? reply["choices"][0]["finish_reason"]
                      : reply.contains("details") ? reply["details"]["finish_reason"]
                                                  : reply["stop_type"]);
    }
    return words;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(words_of(Dialect::completions), (Words{"length", "stop", "stop"}));
  EXPECT_EQ(words_of(Dialect::chat), (Words{"length", "stop", "stop"}));
  EXPECT_EQ(words_of(Dialect::llama_cpp), (Words{"limit", "eos", "word"}));
  EXPECT_EQ(words_of(Dialect::tgi), (Words{"length", "eos_token", "stop_sequence"}));
}

TEST(SimReplyFormat, AnEventSaysWhenItIsSentIfAsked) {
  ReplyFacts facts{9, "m", 1700000000, 12, false, false, true};
  const auto format = make_reply_format(Dialect::chat, facts);
  const auto now = [] {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  std::string event;
  const auto before = now();
  TokenEvent first;
  first.number = 1;
  first.text = " abc";
  format->token(first, event);
  ReplyEvent read;
  ASSERT_TRUE(read_reply_event(Api::chat, std::string_view(event).substr(6), read)) << event;
  ASSERT_TRUE(read.sent_ns) << event;
  EXPECT_GE(static_cast<std::int64_t>(*read.sent_ns), before);
  EXPECT_LE(static_cast<std::int64_t>(*read.sent_ns), now());
  EXPECT_TRUE(read.token);
  ASSERT_TRUE(read_reply_event(Api::chat, R"({"choices":[]})", read));
  EXPECT_FALSE(read.sent_ns);
}

}  // namespace
}  // namespace assay::simulator
