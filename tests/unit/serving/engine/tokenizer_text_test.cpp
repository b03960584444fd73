#include "serving/engine/tokenizer_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/tokenizer_file.h"

namespace assay::engine {
namespace {

/// A token for each byte and special ones from 256 on.
Json tokenizer_with(const std::vector<const char*>& special) {
  Json file = llama_like({});
  for (const char* token : special) {
    file["added_tokens"].push_back(
        added(256 + static_cast<std::int32_t>(file["added_tokens"].size()), token, true));
  }
  return file;
}

/// A chat without its last reply has the tokens that a training puts before that reply.
void expect_as_trained(const Json& file, const char* jinja) {
  const Tokenizer tokenizer = Tokenizer::parse(file.dump()).value();
  const ChatTemplate chat_template = ChatTemplate::recognise(jinja).value();
  const TokenizerText text(Tokenizer::parse(file.dump()).value(), chat_template);
  const std::vector<std::vector<ChatMessage>> chats = {
      {{"user", " Hi\n"}, {"assistant", "R"}},
      {{"system", " Be brief. "}, {"user", "Hi"}, {"assistant", "R"}},
      {{"user", "A"}, {"assistant", "B "}, {"user", "C"}, {"assistant", "R"}},
      {{"user", "A"},
       {"assistant", "<think>\nso\n</think>\n\nB"},
       {"user", "C"},
       {"assistant", "R"}}};
  for (const std::vector<ChatMessage>& chat : chats) {
    std::string trained;
    std::vector<ChatPart> parts = chat_template.render(chat, "");
    while (!parts.back().is_reply) parts.pop_back();
    parts.pop_back();
    for (const ChatPart& part : parts) trained += part.text;
    const std::vector<std::int32_t> expected = tokenizer.encode(trained);
    std::vector<std::uint32_t> served;
    for (std::size_t i = 0; i + 1 < chat.size(); ++i) {
      text.append_message(chat[i].role, chat[i].content, served);
    }
    text.end_chat(served);
    EXPECT_EQ(served, std::vector<std::uint32_t>(expected.begin(), expected.end())) << trained;
  }
}

TEST(TokenizerText, ChatsBeginAsTheyWereTrained) {
  const Json qwen = tokenizer_with({"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  expect_as_trained(qwen, "<|im_start|>system\\nYou are Qwen.<|im_end|>\\n");
  expect_as_trained(qwen, "<|im_start|>' + role + '<|im_end|>");
}

/// A conversation's earlier replies lose their thoughts.
TEST(TokenizerText, ThoughtsAreServedAsTheyWereTrained) {
  const Json qwen = tokenizer_with({"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  expect_as_trained(qwen, "<|im_start|>' + reasoning_content + '</think>' + '<|im_end|>");
}

TEST(TokenizerText, Llama31IsToldTheDatesOfItsTraining) {
  Json file = tokenizer_with(
      {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"});
  file["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single",
       {{{"SpecialToken", {{"id", "<|begin_of_text|>"}, {"type_id", 0}}}},
        {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
      {"pair", Json::array()},
      {"special_tokens",
       {{"<|begin_of_text|>",
         {{"id", "<|begin_of_text|>"}, {"ids", {256}}, {"tokens", {"<|begin_of_text|>"}}}}}}};
  const std::string headers = "<|start_header_id|>user<|end_header_id|><|eot_id|>";
  expect_as_trained(file, headers.c_str());
  expect_as_trained(file,
                    (headers + "Cutting Knowledge Date: December 2023 {{ date_string }}").c_str());
}

}  // namespace
}  // namespace assay::engine
