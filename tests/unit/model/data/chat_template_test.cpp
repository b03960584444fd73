#include "model/data/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/json.h"
#include "support/temporary_folder.h"
#include "support/tokenizer_file.h"

namespace assay {
namespace {

using testing::HasSubstr;

// The parts of the models' own templates by which they differ.
constexpr const char* qwen2_template =
    R"({% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})";
constexpr const char* qwen25_template =
    R"({%- if tools %}{{- '<|im_start|>system\n' }}{%- if messages[0]['role'] == 'system' %}{{- messages[0]['content'] }}{%- else %}{{- 'You are Qwen.' }}{%- endif %}{{- "\n\n# Tools<|im_end|>\n" }}{%- else %}{%- if messages[0]['role'] == 'system' %}{{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}{%- else %}{{- '<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n' }}{%- endif %}{%- endif %})";
constexpr const char* qwen3_template =
    R"({%- if messages[0].role == 'system' %}{{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}{%- endif %}{%- if loop.last or (not loop.last and reasoning_content) %}{{- '<|im_start|>' + message.role + '\n<think>\n' + reasoning_content.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}{%- endif %})";
constexpr const char* llama3_template =
    R"({% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %})";
constexpr const char* llama31_template =
    R"({%- if not date_string is defined %}{%- set date_string = "26 Jul 2024" %}{%- endif %}{{- "<|start_header_id|>system<|end_header_id|>\n\n" }}{{- "Cutting Knowledge Date: December 2023\n" }}{{- "Today Date: " + date_string + "\n\n" }}{{- system_message }}{{- "<|eot_id|>" }})";

const std::vector<ChatMessage> short_chat = {{"user", "Hi"}, {"assistant", "Hello"}};
const std::vector<ChatMessage> long_chat = {
    {"system", "S"}, {"user", "A"}, {"assistant", "B"}, {"user", "C"}, {"assistant", "D"}};

ChatTemplate recognised(std::string_view jinja) {
  auto found = ChatTemplate::recognise(jinja);
  EXPECT_TRUE(found.ok()) << found.error().message;
  return found.ok() ? *found : ChatTemplate(ChatTemplate::Form::alpaca);
}

/// The text, with replies in [].
std::string rendered(const ChatTemplate& chat_template, const std::vector<ChatMessage>& messages) {
  std::string text;
  for (const ChatPart& part : chat_template.render(messages, "<end>")) {
    text += part.is_reply ? "[" + part.text + "]" : part.text;
  }
  return text;
}

TEST(ChatTemplate, OfQwen2HasItsSystemMessage) {
  EXPECT_EQ(rendered(recognised(qwen2_template), short_chat),
            "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nHi"
            "<|im_end|>\n<|im_start|>assistant\n[Hello<|im_end|>]\n");
  EXPECT_EQ(rendered(recognised(qwen2_template), long_chat),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant"
            "\n[B<|im_end|>]\n<|im_start|>user\nC<|im_end|>\n<|im_start|>assistant\n"
            "[D<|im_end|>]\n");
}

TEST(ChatTemplate, OfQwen25HasAnotherOne) {
  EXPECT_THAT(rendered(recognised(qwen25_template), short_chat),
              testing::StartsWith("<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You "
                                  "are a helpful assistant.<|im_end|>\n<|im_start|>user\n"));
}

TEST(ChatTemplate, OfQwen3ThinksBeforeTheLastReply) {
  const ChatTemplate qwen3 = recognised(qwen3_template);
  EXPECT_EQ(rendered(qwen3, short_chat),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n[<think>\n\n</think>\n\nHello"
            "<|im_end|>]\n");
  const std::vector<ChatMessage> with_thoughts = {{"user", "A"},
                                                  {"assistant", "<think>\none\n</think>\n\nB"},
                                                  {"user", "C"},
                                                  {"assistant", "<think>\ntwo\n</think>\n\nD"}};
  EXPECT_EQ(rendered(qwen3, with_thoughts),
            "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\n[B<|im_end|>]\n<|im_start|>user"
            "\nC<|im_end|>\n<|im_start|>assistant\n[<think>\ntwo\n</think>\n\nD<|im_end|>]\n");
}

TEST(ChatTemplate, OfLlama3TrimsContents) {
  const std::vector<ChatMessage> chat = {{"user", " Hi\n"}, {"assistant", " Hello "}};
  EXPECT_EQ(rendered(recognised(llama3_template), chat),
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n[Hello<|eot_id|>]");
}

TEST(ChatTemplate, OfLlama31TellsADateThatDoesNotChange) {
  const std::string system =
      "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: "
      "December 2023\nToday Date: 26 Jul 2024\n\n";
  EXPECT_THAT(rendered(recognised(llama31_template), short_chat),
              testing::StartsWith(system + "<|eot_id|><|start_header_id|>user<|end_header_id|>"));
  EXPECT_THAT(rendered(recognised(llama31_template), long_chat),
              testing::StartsWith(system + "S<|eot_id|><|start_header_id|>user<|end_header_id|>"));
}

TEST(ChatTemplate, OfAlpacaIsThatOfItsAuthors) {
  const ChatTemplate alpaca = *ChatTemplate::named("alpaca");
  EXPECT_EQ(rendered(alpaca, alpaca.conversation("Add.", "1 2", "3")),
            "Below is an instruction that describes a task, paired with an input that provides "
            "further context. Write a response that appropriately completes the request.\n\n"
            "### Instruction:\nAdd.\n\n### Input:\n1 2\n\n### Response:\n[3<end>]");
  EXPECT_EQ(rendered(alpaca, alpaca.conversation("Add.", "", "3")),
            "Below is an instruction that describes a task. Write a response that appropriately "
            "completes the request.\n\n### Instruction:\nAdd.\n\n### Response:\n[3<end>]");
  EXPECT_EQ(rendered(alpaca, long_chat),
            "S\n\n### Instruction:\nA\n\n### Response:\n[B<end>]\n\n### Instruction:\nC\n\n"
            "### Response:\n[D<end>]");
}

TEST(ChatTemplate, AnInstructionWithItsInputIsOneMessage) {
  const ChatTemplate qwen2 = recognised(qwen2_template);
  EXPECT_THAT(rendered(qwen2, qwen2.conversation("Add.", "1 2", "3")),
              HasSubstr("user\nAdd.\n\n1 2<|im_end|>\n<|im_start|>assistant\n[3<|im_end|>]"));
}

TEST(ChatTemplate, WhatIsNotKnownIsRefused) {
  for (const char* jinja : {"", "{{ messages }}", "[INST]", "<|im_start|><|im_sep|><|im_end|>"}) {
    const auto found = ChatTemplate::recognise(jinja);
    ASSERT_FALSE(found.ok()) << jinja;
    EXPECT_EQ(found.error().message,
              "its chat template is none that is known; name the one to use, allowed: chatml, "
              "llama3 and alpaca");
  }
  EXPECT_EQ(ChatTemplate::named("vicuna\n").error().message,
            "the chat template vicuna\\u000a is not known, allowed: chatml, llama3 and alpaca");
}

TEST(ChatTemplate, IsReadFromAModel) {
  const TemporaryFolder folder;
  const auto why = [&] {
    const auto found = ChatTemplate::of_model(folder.path());
    return found.ok() ? "accepted" : found.error().message;
  };
  EXPECT_THAT(why(), HasSubstr(": the model has no chat template in tokenizer_config.json; name "
                               "the one to use, allowed: chatml, llama3 and alpaca"));
  folder.write("tokenizer_config.json", "{}");
  EXPECT_THAT(why(), HasSubstr("has no chat template"));
  folder.write("tokenizer_config.json", "[1]");
  EXPECT_THAT(why(), HasSubstr("tokenizer_config.json: is no JSON object"));
  folder.write("tokenizer_config.json", R"({"chat_template": 1})");
  EXPECT_THAT(why(), HasSubstr("tokenizer_config.json: its \"chat_template\" is neither"));
  folder.write("tokenizer_config.json", R"({"chat_template": "x"})");
  EXPECT_THAT(why(), HasSubstr("tokenizer_config.json: its chat template is none that is known"));
  folder.write("tokenizer_config.json", Json{{"chat_template", qwen2_template}}.dump());
  EXPECT_EQ(why(), "accepted");
  const Json list = {{{"name", "tools"}, {"template", "x"}},
                     {{"name", "default"}, {"template", llama3_template}}};
  folder.write("tokenizer_config.json", Json{{"chat_template", list}}.dump());
  EXPECT_EQ(ChatTemplate::of_model(folder.path())->form(), ChatTemplate::Form::llama3);
  folder.write("chat_template.jinja", qwen3_template);
  EXPECT_EQ(ChatTemplate::of_model(folder.path())->form(), ChatTemplate::Form::chatml);
}

TEST(ChatTemplate, NeedsItsSpecialTokens) {
  Json file = llama_like({});
  file["added_tokens"] = Json::array({added(256, "<|im_start|>", true)});
  const auto half = Tokenizer::parse(file.dump());
  ASSERT_TRUE(half.ok()) << half.error().message;
  EXPECT_EQ(ChatTemplate::named("chatml")->check(*half).error().message,
            "the tokenizer has no token <|im_end|>, which the chat template chatml needs; name "
            "the template to use, allowed: chatml, llama3 and alpaca");
  EXPECT_TRUE(ChatTemplate::named("alpaca")->check(*half).ok());
  file["added_tokens"].push_back(added(257, "<|im_end|>", true));
  EXPECT_TRUE(ChatTemplate::named("chatml")->check(*Tokenizer::parse(file.dump())).ok());
}

TEST(ChatTemplate, TheKeyTellsApartWhatIsRenderedDifferently) {
  EXPECT_NE(recognised(qwen2_template).key(), recognised(qwen25_template).key());
  EXPECT_NE(recognised(qwen3_template).key(), ChatTemplate::named("chatml")->key());
  EXPECT_NE(recognised(llama3_template).key(), recognised(llama31_template).key());
}

}  // namespace
}  // namespace assay
