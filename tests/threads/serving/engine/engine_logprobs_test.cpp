// Log probabilities that a server gives, against those of the reference in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "support/decoder_reference.h"
#include "support/http_client.h"
#include "support/running_engine.h"

namespace assay::engine {
namespace {

constexpr int reply_tokens = 12;
/// Where prompts leave the printable characters of the model's tokens.
const std::vector<std::int32_t> prompt_tokens = {72, 101, 108, 108, 111};

Json reply_to(const RunningEngine& engine, const char* path, const Json& body) {
  return Json::parse(body_of(ask(engine.port(), post(path, body.dump()))));
}

/// What the events of a stream say of log probabilities.
std::vector<Json> streamed_logprobs(const RunningEngine& engine, const char* path, Json body) {
  body["stream"] = true;
  const std::string stream = body_of(ask(engine.port(), post(path, body.dump())));
  std::vector<Json> found;
  for (std::size_t at = 0; (at = stream.find("data: {", at)) != std::string::npos; ++at) {
    const Json event = Json::parse(stream.substr(at + 6, stream.find("\n\n", at) - at - 6));
    for (const Json& choice : event["choices"]) {
      if (!choice["logprobs"].is_null()) found.push_back(choice["logprobs"]);
    }
  }
  return found;
}

/// By the reference, of the token that follows `text`.
class ExpectedLogprobs {
 public:
  ExpectedLogprobs(const TransformerOracle& oracle, const std::vector<std::int32_t>& text) {
    const std::vector<double> logits = oracle.logits(text);
    of_.assign(logits.end() - 300, logits.end());
    const double largest = *std::max_element(of_.begin(), of_.end());
    double sum = 0;
    for (const double logit : of_) sum += std::exp(logit - largest);
    for (double& logit : of_) logit -= largest + std::log(sum);
  }

  double of(std::uint32_t token) const { return of_[token]; }
  /// Returns that of the n-th likeliest token, from 0.
  double of_place(std::size_t n) const {
    std::vector<double> sorted = of_;
    std::sort(sorted.rbegin(), sorted.rend());
    return sorted[n];
  }

 private:
  std::vector<double> of_;
};

class LogprobsOfAServer : public ::testing::Test {
 protected:
  LogprobsOfAServer() : engine_(tiny()) {
    const TransformerShape& shape = tiny().engine.executor.shape;
    const DecoderSettings settings = {
        .shape = shape,
        .limits = {.tokens = 1, .results = 1, .sequences = 1, .positions = 16, .blocks = 1},
        .precision = DataType::f32,
        .seed = 3};
    const auto stream = engine_.device().create_stream().value();
    const auto decoder = Decoder::create(engine_.device(), *stream, settings).value();
    const std::vector<float> weights = decoder->weights(*stream).value();
    oracle_.emplace(shape, std::vector<double>(weights.begin(), weights.end()));
  }

  /// Returns the expected logprobs at each place of a reply that has these tokens.
  std::vector<ExpectedLogprobs> expected(const std::vector<std::uint32_t>& ids) const {
    std::vector<std::int32_t> text = prompt_tokens;
    std::vector<ExpectedLogprobs> all;
    for (const std::uint32_t id : ids) {
      all.emplace_back(*oracle_, text);
      text.push_back(static_cast<std::int32_t>(id));
    }
    return all;
  }

  RunningEngine engine_;
  std::optional<TransformerOracle> oracle_;
};

TEST_F(LogprobsOfAServer, OfACompletionAreTheReferences) {
  // What changes which tokens are drawn changes no log probability.
  for (const Json& more :
       {Json::object(), Json({{"temperature", 1.5}, {"seed", 4}, {"top_k", 100}}),
        Json({{"presence_penalty", 2}, {"repetition_penalty", 3}})}) {
    Json body = {{"prompt", prompt_tokens},
                 {"max_tokens", reply_tokens},
                 {"return_token_ids", true},
                 {"logprobs", 5}};
    body.update(more);
    const Json choice = reply_to(engine_, "/v1/completions", body)["choices"][0];
    const auto ids = choice["token_ids"].get<std::vector<std::uint32_t>>();
    const Json& logprobs = choice["logprobs"];
    ASSERT_EQ(logprobs["token_logprobs"].size(), std::size_t{reply_tokens}) << choice;
    const auto places = expected(ids);
    for (std::size_t i = 0; i < places.size(); ++i) {
      EXPECT_NEAR(logprobs["token_logprobs"][i].get<double>(), places[i].of(ids[i]), 1e-4);
      std::vector<double> found;
      for (const Json& one : logprobs["top_logprobs"][i]) found.push_back(one);
      std::sort(found.rbegin(), found.rend());
      EXPECT_TRUE(found.size() == 5 || found.size() == 6) << logprobs;
      for (std::size_t n = 0; n < 5; ++n) EXPECT_NEAR(found[n], places[i].of_place(n), 1e-4);
    }
    // A token is a byte, or one that no text has.
    EXPECT_EQ(logprobs["text_offset"][0], 0);
    std::size_t offset = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(logprobs["text_offset"][i], offset);
      offset += ids[i] >= 256 ? 7 : (ids[i] & 0xC0) != 0x80;
    }
    const std::vector<Json> events = streamed_logprobs(engine_, "/v1/completions", body);
    ASSERT_EQ(events.size(), std::size_t{reply_tokens});
    for (std::size_t i = 0; i < events.size(); ++i) {
      for (const char* list : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
        EXPECT_EQ(events[i][list], Json::array({logprobs[list][i]})) << list;
      }
    }
  }
  EXPECT_TRUE(engine_.all_blocks_become_free());
}

TEST_F(LogprobsOfAServer, OfAChatAreInTheOrderOfTheReferences) {
  const Json body = {{"messages", Json::array({{{"role", "user"}, {"content", "hi"}}})},
                     {"max_tokens", reply_tokens},
                     {"return_token_ids", true},
                     {"logprobs", true},
                     {"top_logprobs", 20}};
  const Json choice = reply_to(engine_, "/v1/chat/completions", body)["choices"][0];
  const Json& content = choice["logprobs"]["content"];
  ASSERT_EQ(content.size(), std::size_t{reply_tokens}) << choice;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const Json& top = content[i]["top_logprobs"];
    ASSERT_EQ(top.size(), 20u);
    // The likeliest one is chosen.
    EXPECT_EQ(top[0]["token"], content[i]["token"]);
    EXPECT_EQ(top[0]["bytes"], content[i]["bytes"]);
    EXPECT_EQ(top[0]["logprob"], content[i]["logprob"]);
    double share = 0;
    for (std::size_t n = 0; n < top.size(); ++n) {
      share += std::exp(top[n]["logprob"].get<double>());
      if (n > 0) EXPECT_GE(top[n - 1]["logprob"], top[n]["logprob"]);
    }
    EXPECT_LT(share, 1);
    EXPECT_GT(share, 20.0 / 300);
  }
  const std::vector<Json> events = streamed_logprobs(engine_, "/v1/chat/completions", body);
  ASSERT_EQ(events.size(), std::size_t{reply_tokens});
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i]["content"], Json::array({content[i]}));
  }
  const Json without = {{"messages", body["messages"]}, {"max_tokens", 2}, {"logprobs", true}};
  const Json of_chosen = reply_to(engine_, "/v1/chat/completions", without);
  EXPECT_EQ(of_chosen["choices"][0]["logprobs"]["content"][1]["top_logprobs"], Json::array());
}

/// Beside requests that want none, and prompts of one call.
TEST_F(LogprobsOfAServer, AreThoseOfTheRequestThatWantsThem) {
  Json body = {{"prompt", {prompt_tokens, {9, 8, 7}}},
               {"max_tokens", reply_tokens},
               {"return_token_ids", true},
               {"logprobs", 0}};
  Client beside(engine_.port());
  beside.send(post("/v1/completions", R"({"prompt":[4,5],"max_tokens":100})"));
  const Json choices = reply_to(engine_, "/v1/completions", body)["choices"];
  const auto ids = choices[0]["token_ids"].get<std::vector<std::uint32_t>>();
  const auto places = expected(ids);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Json& found = choices[0]["logprobs"];
    EXPECT_NEAR(found["token_logprobs"][i].get<double>(), places[i].of(ids[i]), 1e-4);
    EXPECT_EQ(found["top_logprobs"][i].size(), 1u);
  }
  EXPECT_EQ(choices[1]["logprobs"]["text_offset"][0], 0);
  const Json other = Json::parse(body_of(beside.read_all()));
  EXPECT_EQ(other["choices"][0]["logprobs"], nullptr);
  EXPECT_TRUE(engine_.all_blocks_become_free());
}

}  // namespace
}  // namespace assay::engine
