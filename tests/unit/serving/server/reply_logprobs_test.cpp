// Log probabilities in the formats of OpenAI's interface.
#include "serving/server/reply_logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/json.h"
#include "serving/server/reply_format.h"

namespace assay::server {
namespace {

/// A letter of two bytes in two tokens, and then a quote.
std::vector<ChosenLogprobs> three_places() {
  return {{{"\xc3", -0.5}, {{"\xc3", -0.5}, {"a", -1.25}}},
          {{"\xa9", -2}, {{"b", -0.25}, {"\xa9", -2}}},
          {{"\"", -INFINITY}, {{"c", 0}, {"d", -20000}}}};
}

TEST(ReplyLogprobs, OfACompletion) {
  std::string text;
  append_completion_logprobs(three_places(), 7, text);
  EXPECT_EQ(Json::parse(text), Json::parse(R"({
      "text_offset": [7, 8, 8],
      "token_logprobs": [-0.5, -2.0, -9999.0],
      "tokens": ["bytes:\\xc3", "bytes:\\xa9", "\""],
      "top_logprobs": [{"bytes:\\xc3": -0.5, "a": -1.25}, {"bytes:\\xa9": -2.0, "b": -0.25},
                       {"\"": -9999.0, "c": 0.0, "d": -9999.0}]})"));
  EXPECT_EQ(text.find("\"a\"", text.find("\"a\"") + 1), std::string::npos);
  EXPECT_EQ(text.find("\"bytes:\\\\xc3\":", text.find("\"bytes:\\\\xc3\":") + 1), std::string::npos)
      << "a member stands twice: " << text;
}

TEST(ReplyLogprobs, OfAChat) {
  std::string text;
  append_chat_logprobs(std::vector{three_places()[0], three_places()[2]}, text);
  EXPECT_EQ(Json::parse(text), Json::parse(R"({"content": [
      {"token": "\\xc3", "logprob": -0.5, "bytes": [195],
       "top_logprobs": [{"token": "\\xc3", "logprob": -0.5, "bytes": [195]},
                        {"token": "a", "logprob": -1.25, "bytes": [97]}]},
      {"token": "\"", "logprob": -9999.0, "bytes": [34],
       "top_logprobs": [{"token": "c", "logprob": 0.0, "bytes": [99]},
                        {"token": "d", "logprob": -9999.0, "bytes": [100]}]}]})"));
}

/// An event of a stream has those of its token, a whole reply those of all tokens.
TEST(ReplyLogprobs, StandInEventsAndInWholeReplies) {
  const std::vector<ChosenLogprobs> places = three_places();
  for (const Dialect dialect : {Dialect::completions, Dialect::chat}) {
    const auto format = make_reply_format(dialect, {.model = "m"});
    TokenEvent token;
    token.text = "x";
    std::string event;
    format->token(token, event);
    EXPECT_EQ(Json::parse(event.substr(6))["choices"][0]["logprobs"], nullptr);
    token.logprobs = &places[1];
    token.offset = 4;
    event.clear();
    format->token(token, event);
    const Json of_event = Json::parse(event.substr(6))["choices"][0]["logprobs"];
    ChoiceText choice;
    choice.logprobs = places;
    const Json of_reply = Json::parse(format->whole({&choice, 1}, 3))["choices"][0]["logprobs"];
    if (dialect == Dialect::chat) {
      EXPECT_EQ(of_event["content"].size(), 1u);
      EXPECT_EQ(of_reply["content"].size(), 3u);
      EXPECT_EQ(of_reply["content"][1], of_event["content"][0]);
    } else {
      EXPECT_EQ(of_event["text_offset"], Json::array({4}));
      EXPECT_EQ(of_reply["text_offset"], Json::array({0, 1, 1}));
      EXPECT_EQ(of_reply["top_logprobs"][1], of_event["top_logprobs"][0]);
    }
  }
}

}  // namespace
}  // namespace assay::server
