// An LLM server on the CPU: whatever clients do, tokens are those of the reference, and the cache
// loses no block.
#include "serving/engine/engine_server.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <atomic>
#include <future>
#include <limits>
#include <thread>

#include "core/json.h"
#include "serving/engine/cache_plan.h"
#include "serving/engine/engine_instance.h"
#include "serving/engine/tokenizer_text.h"
#include "support/decoder_reference.h"
#include "support/http_client.h"
#include "support/running_engine.h"
#include "support/sanitized.h"
#include "support/test_device.h"
#include "support/tokenizer_file.h"

namespace assay::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Fields of a request besides prompt and length.
std::string request_for(const std::vector<std::int32_t>& prompt, int tokens, Json more = {}) {
  Json body = {{"prompt", prompt}, {"max_tokens", tokens}, {"return_token_ids", true}};
  if (more.is_object()) body.update(more);
  return post("/v1/completions", body.dump());
}

std::vector<std::uint32_t> ids_of(const std::string& reply) {
  const Json json = Json::parse(body_of(reply), nullptr, false);
  if (json.is_discarded() || !json.contains("choices")) return {};
  return json["choices"][0]["token_ids"].get<std::vector<std::uint32_t>>();
}

/// The ids in a stream's events.
std::vector<std::uint32_t> streamed_ids(const std::string& reply) {
  std::vector<std::uint32_t> ids;
  const std::string body = body_of(reply);
  for (std::size_t at = 0; (at = body.find("data: {", at)) != std::string::npos; ++at) {
    const Json event = Json::parse(body.substr(at + 6, body.find("\n\n", at) - at - 6));
    for (const Json& choice : event["choices"]) {
      for (const Json& id : choice["token_ids"]) ids.push_back(id);
    }
  }
  return ids;
}

TEST(EngineServer, TokensAreTheReferencesStreamedOrNot) {
  RunningEngine engine(tiny());
  const ReferenceDecoder reference(engine.device(), tiny().engine.executor.shape, 3);
  const auto prompt = prompt_of(5, 40);
  const auto expected = reference.generate(prompt, 32);
  const std::string whole = ask(engine.port(), request_for(prompt, 32));
  EXPECT_EQ(ids_of(whole), expected);
  EXPECT_EQ(Json::parse(body_of(whole))["usage"]["completion_tokens"], 32);
  EXPECT_EQ(Json::parse(body_of(whole))["usage"]["prompt_tokens"], 40);
  const std::string stream = ask(engine.port(), request_for(prompt, 32, {{"stream", true}}));
  EXPECT_EQ(streamed_ids(stream), expected);
  EXPECT_THAT(body_of(stream), HasSubstr("data: [DONE]"));
  EXPECT_GT(engine.server().gate_error(), 0);
  EXPECT_EQ(metric(engine.port(), "vllm:prefix_cache_hits_total"), "32");
  EXPECT_TRUE(engine.all_blocks_become_free());
}

TEST(EngineServer, WhatElseIsServedChangesNoToken) {
  EngineServerSettings settings = tiny();
  settings.engine.executor.blocks = 16;  // less than the clients need together
  RunningEngine engine(settings);
  const ReferenceDecoder reference(engine.device(), settings.engine.executor.shape, 3);
  constexpr int clients = 12, tokens = 40;
  std::vector<std::vector<std::uint32_t>> found(clients);
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&, i] {
      found[static_cast<std::size_t>(i)] =
          ids_of(ask(engine.port(), request_for(prompt_of(i / 2, 20), tokens)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < clients; ++i) {
    EXPECT_EQ(found[static_cast<std::size_t>(i)], reference.generate(prompt_of(i / 2, 20), tokens))
        << i;
  }
  EXPECT_NE(metric(engine.port(), "vllm:num_preemptions_total"), "0");
  EXPECT_TRUE(engine.all_blocks_become_free());
}

/// Codes and their factors stay together in blocks that requests share, lose and compute again.
TEST(EngineServer, ACacheOfCodesServesTheSameTokensFromPrefixesAndAfterPreemption) {
  EngineServerSettings settings = tiny();
  settings.engine.executor.cache_codes = DataType::e4m3;
  settings.engine.executor.deterministic = true;
  constexpr int clients = 12, tokens = 40;
  const auto prompt = [](int i) { return prompt_of(i / 2, 20); };
  std::vector<std::vector<std::uint32_t>> expected;
  {
    settings.engine.prefix_cache = false;
    RunningEngine engine(settings);
    for (int i = 0; i < clients; ++i) {
      expected.push_back(ids_of(ask(engine.port(), request_for(prompt(i), tokens))));
      EXPECT_EQ(expected.back().size(), tokens);
    }
    EXPECT_EQ(metric(engine.port(), "vllm:num_preemptions_total"), "0");
    EXPECT_THAT(body_of(ask(engine.port(), get("/metrics"))),
                HasSubstr("type=\"e4m3, a factor per token and head\"} 1\n"));
  }
  settings.engine.prefix_cache = true;
  settings.engine.executor.blocks = 16;  // less than the clients need together
  RunningEngine engine(settings);
  std::vector<std::vector<std::uint32_t>> found(clients);
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&, i] {
      found[static_cast<std::size_t>(i)] =
          ids_of(ask(engine.port(), request_for(prompt(i), tokens)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, expected);
  EXPECT_EQ(ids_of(ask(engine.port(), request_for(prompt(0), tokens))), expected[0]);
  EXPECT_NE(metric(engine.port(), "vllm:num_preemptions_total"), "0");
  EXPECT_NE(metric(engine.port(), "vllm:prefix_cache_hits_total"), "0");
  EXPECT_TRUE(engine.all_blocks_become_free());
}

TEST(EngineServer, TextGoesInAndComesOut) {
  RunningEngine engine(tiny());
  const auto count_of = [&](const char* text) {
    return ask(engine.port(), post("/tokenize", Json({{"prompt", text}}).dump()));
  };
  EXPECT_THAT(count_of("h\xc3\xa9!"), HasSubstr("\"tokens\":[104,195,169,33]"));
  const std::string completion =
      ask(engine.port(), post("/v1/completions", R"({"prompt":"hello","max_tokens":5})"));
  EXPECT_EQ(Json::parse(body_of(completion))["usage"]["prompt_tokens"], 5);
  const std::string chat =
      ask(engine.port(),
          post("/v1/chat/completions",
               R"({"messages":[{"role":"user","content":"hi"}],"max_completion_tokens":3})"));
  const Json parsed = Json::parse(body_of(chat));
  EXPECT_EQ(parsed["usage"]["prompt_tokens"], std::string("user: hi\nassistant:").size());
  EXPECT_EQ(parsed["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(parsed["choices"][0]["message"]["content"].is_string());
  // Without a limit, a chat continues to the end of the context.
  const std::string longest =
      ask(engine.port(),
          post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"hi"}]})"));
  EXPECT_EQ(Json::parse(body_of(longest))["usage"]["total_tokens"], 128);
}

TEST(EngineServer, AnEndTokenEndsTheReplyUnlessIgnored) {
  EngineServerSettings settings = tiny();
  const auto prompt = prompt_of(9, 10);
  {
    RunningEngine engine(settings);
    settings.engine.end_tokens = {ids_of(ask(engine.port(), request_for(prompt, 8)))[2]};
  }
  RunningEngine engine(settings);
  const std::string reply = ask(engine.port(), request_for(prompt, 8));
  EXPECT_LE(ids_of(reply).size(), 3u);  // it may also have come earlier
  EXPECT_EQ(ids_of(reply).back(), settings.engine.end_tokens.front());
  EXPECT_EQ(Json::parse(body_of(reply))["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(ids_of(ask(engine.port(), request_for(prompt, 8, {{"ignore_eos", true}}))).size(), 8u);
  EXPECT_EQ(ids_of(ask(engine.port(), request_for(prompt, 8, {{"min_tokens", 8}}))).size(), 8u);
  EXPECT_TRUE(engine.all_blocks_become_free());
}

/// The text until the stop is that of a reply without one, whole or streamed; the tokens behind it
/// are not computed.
TEST(EngineServer, ATextToStopAtEndsTheReply) {
  RunningEngine engine(tiny());
  const auto prompt = prompt_of(7, 20);
  constexpr int tokens = 60;
  const auto reply = [&](Json more) {
    return Json::parse(body_of(ask(engine.port(), request_for(prompt, tokens, std::move(more)))));
  };
  const std::string text = reply({})["choices"][0]["text"];
  ASSERT_GE(text.size(), 30u);
  const auto character_from = [&](std::size_t at) {
    while ((text[at] & 0xC0) == 0x80) ++at;
    return at;
  };
  const std::size_t begin = character_from(20), end = character_from(25);
  const std::string stop = text.substr(begin, end - begin);
  const std::string expected = text.substr(0, text.find(stop));
  const Json stopped = reply({{"stop", {"never in it", stop}}});
  EXPECT_EQ(stopped["choices"][0]["text"], expected);
  EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
  EXPECT_LT(stopped["usage"]["completion_tokens"], tokens);
  EXPECT_TRUE(engine.all_blocks_become_free());

  const std::string stream =
      ask(engine.port(), request_for(prompt, tokens, {{"stop", stop}, {"stream", true}}));
  std::string streamed;
  for (std::size_t at = 0; (at = stream.find("data: {", at)) != std::string::npos; ++at) {
    const Json event = Json::parse(stream.substr(at + 6, stream.find("\n\n", at) - at - 6));
    for (const Json& choice : event["choices"]) streamed += choice["text"].get<std::string>();
  }
  EXPECT_EQ(streamed, expected);
  EXPECT_THAT(stream, HasSubstr("data: [DONE]"));

  const Json later = reply({{"stop", stop}, {"min_tokens", tokens}});
  EXPECT_EQ(later["choices"][0]["text"], text);
  EXPECT_EQ(later["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(engine.all_blocks_become_free());
}

TEST(EngineServer, WhatItDoesNotDoIsRefused) {
  RunningEngine engine(tiny());
  const std::string refused = ask(engine.port(), request_for({1}, 1, {{"echo", true}}));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(refused, HasSubstr("echo"));
  const std::string many = ask(engine.port(), request_for({1}, 1, {{"logprobs", 21}}));
  EXPECT_THAT(many, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(many, HasSubstr("between 0 and 20"));
}

TEST(EngineServer, MalformedRequestsGetTheirErrors) {
  RunningEngine engine(tiny());
  const auto port = engine.port();
  EXPECT_THAT(ask(port, post("/v1/completions", "{")), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask(port, request_for({300}, 4)), HasSubstr("out of vocabulary"));
  EXPECT_THAT(ask(port, request_for(prompt_of(1, 100), 29)), HasSubstr("maximum context length"));
  EXPECT_THAT(ask(port, request_for({1}, 4, {{"temperature", -1}})), HasSubstr("temperature"));
  EXPECT_THAT(ask(port, request_for({1}, 4, {{"top_p", 0}})), HasSubstr("top_p"));
  EXPECT_THAT(ask(port, request_for({1}, 4, {{"model", "other"}})), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask(port, "nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(ids_of(ask(port, request_for(prompt_of(1, 100), 28))).size(), 28u);
  EXPECT_TRUE(engine.all_blocks_become_free());
}

/// A tokenizer may know tokens for which the model has no numbers, such as added ones.
TEST(EngineServer, ATextWithATokenBeyondTheModelIsRefusedAndNobodyElseIs) {
  EngineServerSettings settings = tiny();
  Json file = llama_like({});
  file["added_tokens"].push_back(added(300, "<|tool|>", true));
  settings.text = std::make_shared<TokenizerText>(Tokenizer::parse(file.dump()).value());
  RunningEngine engine(settings);
  const auto port = engine.port();
  for (const char* path : {"/v1/completions", "/completion"}) {
    const std::string reply = ask(port, post(path, R"({"prompt":"say <|tool|>","max_tokens":4})"));
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 400 "));
    EXPECT_THAT(reply, HasSubstr("token 300 of this text, and the model has the tokens 0 to 299"));
  }
  const std::string chat = R"({"messages":[{"role":"user","content":"<|tool|>"}],"max_tokens":4})";
  EXPECT_THAT(ask(port, post("/v1/chat/completions", chat)), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(ids_of(ask(port, request_for({1, 2}, 4))).size(), 4u);
  EXPECT_TRUE(engine.all_blocks_become_free());
}

/// Its pattern tries all ways to divide the letters.
/// A tokenizer whose first text takes as long as a test wants, at most a minute.
class HeldText final : public TokenizerText {
 public:
  using TokenizerText::TokenizerText;

  void append(std::string_view text, std::vector<std::uint32_t>& tokens) const override {
    if (!began_.exchange(true)) {
      asked_.set_value();
      was_released_ =
          released_.get_future().wait_for(std::chrono::minutes(1)) == std::future_status::ready;
    }
    TokenizerText::append(text, tokens);
  }

  void wait_until_asked() const { asked_.get_future().wait(); }
  void release() const { released_.set_value(); }
  bool was_released() const { return was_released_; }

 private:
  mutable std::atomic<bool> began_ = false, was_released_ = false;
  mutable std::promise<void> asked_, released_;
};

TEST(EngineServer, ASlowTokenizerHoldsUpNobodyElse) {
  EngineServerSettings settings = tiny();
  Json file = llama_like({});
  file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "(a+)+$";  // may take minutes
  const auto held = std::make_shared<HeldText>(Tokenizer::parse(file.dump()).value());
  settings.text = held;
  RunningEngine engine(settings);
  std::string reply;
  std::thread slow([&] {
    reply = ask(engine.port(), post("/tokenize", Json({{"prompt", "aaab"}}).dump()));
  });
  held->wait_until_asked();
  EXPECT_THAT(ask(engine.port(), get("/health")), StartsWith("HTTP/1.1 200 "));
  held->release();
  slow.join();
  EXPECT_TRUE(held->was_released()) << "the other client waited for the tokenizer";
  EXPECT_THAT(reply, HasSubstr("\"count\":4"));
}

/// Whatever lets a request through: the engine's thread, whose errors end all, does not see it.
TEST(Engine, TakesNoRequestThatTheModelCannotCompute) {
  const OneCpu one_cpu;
  const auto device = open_test_device("cpu");
  const auto engine = Engine::start(*device, tiny().engine).value();
  const auto why = [&](EngineRequest request) {
    const Status status = engine->submit(std::move(request));
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_THAT(why({.id = 1, .prompt = {5, 300}, .sampling = {}}),
              HasSubstr("the model has the tokens 0 to 299"));
  EXPECT_THAT(why({.id = 2, .prompt = {}, .sampling = {}}), HasSubstr("empty"));
  EXPECT_THAT(why({.id = 3, .prompt = {1}, .output_tokens = 128, .sampling = {}}),
              HasSubstr("between 1 and 128"));
  EXPECT_THAT(why({.id = 4, .prompt = {1}, .output_tokens = ~0ull, .sampling = {}}),
              HasSubstr("between 1"));
  EXPECT_THAT(why({.id = 4, .prompt = {1}, .sampling = {}, .logprobs = 21}),
              HasSubstr("allowed are 0 to 20"));
  EXPECT_EQ(why({.id = 5, .prompt = {299}, .output_tokens = 2, .sampling = {.seed = 1}}), "");
  const auto begin = std::chrono::steady_clock::now();
  while (engine->state().counters.generation_tokens < 2 && seconds_since(begin) < 60) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(engine->state().failure) << engine->state().failure->message;
}

/// Whose replies take long: nobody sees their end.
EngineServerSettings endless() {
  EngineServerSettings settings = tiny();
  settings.engine.executor.max_length = 20000;
  settings.engine.executor.blocks = 2500;
  settings.model.max_length = 20000;
  return settings;
}

TEST(EngineServer, ClientsThatLeaveLoseNoBlock) {
  RunningEngine engine(endless());
  for (int round = 0; round < 5; ++round) {
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 20; ++i) {  // more than run at once
      clients.push_back(std::make_unique<Client>(engine.port()));
      clients.back()->send(request_for(prompt_of(i, 30), 19000, {{"stream", true}}));
    }
    EXPECT_THAT(clients[0]->read_until("\"text\""), HasSubstr("\"text\""));
  }
  EXPECT_TRUE(engine.all_blocks_become_free());
  EXPECT_EQ(metric(engine.port(), "assay_kv_cache_free_blocks"), "2500");
  EXPECT_EQ(ids_of(ask(engine.port(), request_for({1, 2}, 4))).size(), 4u);
}

TEST(EngineServer, AThousandClientsAtOnceAreAllAnswered) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t count = is_sanitized || limit.rlim_cur < 2100 ? 200 : 1000;
  RunningEngine engine(tiny());
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<Client>(engine.port()));
    clients.back()->send(request_for(prompt_of(static_cast<std::int32_t>(i), 6), 3));
  }
  std::size_t answered = 0;
  for (const auto& client : clients) answered += ids_of(client->read_all()).size() == 3;
  EXPECT_EQ(answered, count);
  EXPECT_TRUE(engine.all_blocks_become_free());
}

TEST(EngineServer, WhenItEndsEachReplyIsEnded) {
  EngineServerSettings settings = endless();
  settings.engine.executor.max_sequences = 1;  // so that the second waits
  RunningEngine engine(settings);
  Client streaming(engine.port()), waiting(engine.port());
  streaming.send(request_for({1}, 19000, {{"stream", true}}));
  EXPECT_THAT(streaming.read_until("\"text\""), HasSubstr("\"text\""));
  waiting.send(request_for({2}, 19000));
  while (engine.server().state().waiting == 0) std::this_thread::yield();
  engine.stop();
  EXPECT_THAT(streaming.read_all(), AllOf(HasSubstr("shutting down"), HasSubstr("0\r\n\r\n")));
  EXPECT_THAT(waiting.read_all(), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("shutting down")));
  EXPECT_TRUE(engine.all_blocks_become_free());
}

TEST(EngineServer, WhatCannotBeIsSaid) {
  RunningEngine engine(tiny());
  EngineServerSettings settings = tiny();
  settings.port = engine.port();
  const auto second = EngineServer::open(engine.device(), settings);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr(std::to_string(settings.port)));
  ExecutorSettings planned = settings.engine.executor;
  EXPECT_FALSE(plan_cache(engine.device(), {.max_length = 4096, .blocks = 16}, planned).ok());
  EXPECT_FALSE(
      plan_cache(engine.device(), {.max_sequences = 64, .max_batched_tokens = 32}, planned).ok());
  ASSERT_TRUE(plan_cache(engine.device(), {.blocks = 16}, planned).ok());
  EXPECT_EQ(planned.max_length, 256);
}

/// The device computes NaN, as it would with a kernel that divides by 0.
TEST(EngineServer, ADeviceThatComputesNoNumbersIsRefused) {
  const auto device = open_test_device("cpu");
  EngineServerSettings settings = tiny();
  settings.engine.executor.shape.norm_epsilon = std::numeric_limits<double>::quiet_NaN();
  const auto server = EngineServer::open(*device, settings);
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.error().kind, ErrorKind::verification);
  EXPECT_THAT(server.error().message, HasSubstr("relative distance of logits nan"));
  EXPECT_EQ(follow_server(*device, settings.engine.executor, [] { return true; }).error().kind,
            ErrorKind::verification);
}

/// Sets the limit of open files as long as it lives.
class FileLimit {
 public:
  explicit FileLimit(rlim_t most) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit = {most, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~FileLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_ = {};
};

TEST(EngineInstance, WithoutFilesToHearOfTokensItSaysThatTheyAreExhausted) {
  const OneCpu one_cpu;
  const auto device = open_test_device("cpu");
  const EngineServerSettings settings = tiny();
  const auto engine = Engine::start(*device, settings.engine).value();
  server::Loop loop;
  const auto made_with = [&](rlim_t files) {
    const FileLimit limit(files);
    return std::make_unique<EngineInstance>(loop, settings.model, *settings.text, *engine, 1);
  };
  EXPECT_FALSE(made_with(1024)->failure());
  const auto failure = made_with(0)->failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, ErrorKind::exhausted);
}

TEST(TokenizerText, CharactersComeWhenTheyAreComplete) {
  const TokenizerText text(Tokenizer::bytes());
  const auto shown = [&](const std::vector<std::uint32_t>& tokens) {
    const auto stream = text.stream();
    std::vector<std::string> parts;
    for (const std::uint32_t token : tokens) stream->append(token, parts.emplace_back());
    stream->end(parts.emplace_back());
    return parts;
  };
  const std::string unknown = "\xEF\xBF\xBD";
  EXPECT_EQ(shown({'a', 0xE2, 0x82, 0xAC}),
            (std::vector<std::string>{"a", "", "", "\xE2\x82\xAC", ""}));
  EXPECT_EQ(shown({0xC3, 256}), (std::vector<std::string>{"", unknown + "<|256|>", ""}));
  EXPECT_EQ(shown({0xE2, 0x82}).back(), unknown);
}

/// Bytes, and from 256 on the special tokens of a family of models.
TokenizerText with_special_tokens(const std::vector<const char*>& special) {
  Json file = llama_like({});
  std::int32_t id = 256;
  for (const char* text : special) file["added_tokens"].push_back(added(id++, text, true));
  auto tokenizer = Tokenizer::parse(file.dump());
  EXPECT_TRUE(tokenizer.ok()) << (tokenizer.ok() ? "" : tokenizer.error().message);
  return TokenizerText(tokenizer.ok() ? std::move(*tokenizer) : Tokenizer::bytes());
}

TEST(TokenizerText, ChatsAreFramedByTheSpecialTokensOfTheModel) {
  using Tokens = std::vector<std::uint32_t>;
  const TokenizerText qwen = with_special_tokens({"<|im_start|>", "<|im_end|>"});
  Tokens tokens;
  qwen.append_message("user", "hi", tokens);
  EXPECT_EQ(tokens, (Tokens{256, 'u', 's', 'e', 'r', '\n', 'h', 'i', 257, '\n'}));
  tokens.clear();
  qwen.end_chat(tokens);
  EXPECT_EQ(tokens.front(), 256u);
  EXPECT_EQ(tokens.back(), std::uint32_t{'\n'});
  EXPECT_EQ(qwen.end_tokens(), Tokens{257});
  const TokenizerText llama = with_special_tokens(
      {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|end_of_text|>"});
  tokens.clear();
  llama.append_message("user", "hi", tokens);
  EXPECT_EQ(tokens, (Tokens{256, 'u', 's', 'e', 'r', 257, '\n', '\n', 'h', 'i', 258}));
  EXPECT_EQ(llama.end_tokens(), (Tokens{258, 259}));
}

/// A special token has bytes although it adds none to a text, and so has one beyond the tokenizer.
TEST(TokenizerText, EveryTokenHasBytes) {
  const TokenizerText text = with_special_tokens({"<|im_end|>"});
  EXPECT_EQ(text.bytes_of(0xC3), "\xC3");
  EXPECT_EQ(text.bytes_of(256), "<|im_end|>");
  EXPECT_EQ(text.bytes_of(257), "<|257|>");
}

TEST(TokenizerText, ATokenOfEveryTextBeyondTheModelIsAnError) {
  const TokenizerText qwen = with_special_tokens({"<|im_start|>", "<|im_end|>"});
  EXPECT_EQ(qwen.vocabulary(), 258);
  EXPECT_TRUE(qwen.check(258).ok());
  const Status beyond = qwen.check(257);
  ASSERT_FALSE(beyond.ok());
  EXPECT_THAT(beyond.error().message, HasSubstr("token 257 into every text or chat"));
  EXPECT_TRUE(with_special_tokens({"<|tool|>"}).check(256).ok());
}

}  // namespace
}  // namespace assay::engine
