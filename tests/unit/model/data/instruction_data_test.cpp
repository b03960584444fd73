#include "model/data/instruction_data.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/random.h"
#include "core/read_file.h"
#include "model/decoder/decoder_files.h"
#include "model/transformer/decoder_config.h"
#include "model/transformer/named_shapes.h"
#include "support/damaged_json.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Rows in a file, read with the tokenizer of a tiny Qwen.
class InstructionData : public testing::Test {
 protected:
  InstructionData() {
    write_tiny_tokenizer(folder_);
    settings_ = {.file = folder_.path() / "rows.jsonl", .model = folder_.path(), .vocabulary = 259};
  }

  Result<InstructionDocuments> read(const std::string& rows) {
    folder_.write("rows.jsonl", rows);
    return read_instructions(settings_);
  }
  std::string why(const std::string& rows) {
    const auto documents = read(rows);
    return documents.ok() ? "accepted" : documents.error().message;
  }
  /// The text of all documents, with tokens that have a loss in [] and "/" at ends.
  std::string text(const std::string& rows) {
    const auto read_rows = read(rows);
    if (!read_rows.ok()) return read_rows.error().message;
    const Documents& documents = read_rows->documents;
    std::string all;
    bool in_loss = false;
    for (std::size_t d = 0; d < documents.count(); ++d) {
      for (std::size_t i = documents.begin_of(d); i < documents.ends[d]; ++i) {
        const bool has_loss = documents.has_loss[i] != 0;
        if (has_loss != in_loss) all += has_loss ? "[" : "]";
        in_loss = has_loss;
        const std::int32_t token = documents.tokens[i];
        all += token == 256   ? "<|endoftext|>"
               : token == 257 ? "<s>"
               : token == 258 ? "<e>"
               : token > 258  ? "<" + std::to_string(token) + ">"
                              : std::string(1, static_cast<char>(token));
      }
      all += in_loss ? "]/" : "/";
      in_loss = false;
    }
    return all;
  }

  TemporaryFolder folder_;
  InstructionSettings settings_;
};

TEST_F(InstructionData, MessagesHaveALossOnReplies) {
  EXPECT_EQ(text(R"({"messages": [{"role": "user", "content": "Hi"},
                                  {"role": "assistant", "content": "Yo"}]})"),
            folder_.path().string() +
                "/rows.jsonl: no row can be used, line 1: it is not JSON; a row is a JSON object "
                "with \"messages\", with \"instruction\" and \"output\", or with \"text\"");
  EXPECT_EQ(text(R"({"messages": [{"role": "user", "content": "Hi"}, )"
                 R"({"role": "assistant", "content": "Yo"}, {"role": "user", "content": "?"}]})"),
            "<s>user\nHi<e>\n<s>assistant\n[Yo<e>]\n<s>user\n?<e>\n/");
}

TEST_F(InstructionData, InstructionsAreConversations) {
  EXPECT_EQ(text("{\"instruction\": \"Add\", \"input\": \"1 2\", \"output\": \"3\"}\n\n"
                 "{\"instruction\": \"Go\", \"input\": null, \"output\": \"ok\"}"),
            "<s>user\nAdd\n\n1 2<e>\n<s>assistant\n[3<e>]\n/"
            "<s>user\nGo<e>\n<s>assistant\n[ok<e>]\n/");
}

TEST_F(InstructionData, TextHasALossEverywhereAndAnEnd) {
  EXPECT_EQ(text("{\"text\": \"abc\"}\r\n"), "[abc<|endoftext|>]/");
}

TEST_F(InstructionData, WithLossOnAllPromptsHaveOne) {
  settings_.loss_on_all = true;
  EXPECT_EQ(text(R"({"instruction": "Go", "output": "ok"})"),
            "[<s>user\nGo<e>\n<s>assistant\nok<e>\n]/");
}

TEST_F(InstructionData, ATemplateCanBeNamed) {
  settings_.chat_template = "alpaca";
  EXPECT_THAT(text(R"({"instruction": "Go", "output": "ok"})"),
              HasSubstr("### Instruction:\nGo\n\n### Response:\n[ok<|endoftext|>]/"));
  settings_.chat_template = "llama3";
  EXPECT_THAT(text(R"({"instruction": "Go", "output": "ok"})"),
              HasSubstr("the tokenizer has no token <|begin_of_text|>, which the chat template "
                        "llama3 needs"));
}

TEST_F(InstructionData, WithoutAModelEachByteIsAToken) {
  settings_.model.clear();
  EXPECT_EQ(text(R"({"text": "abc"})"), "[abc]/");
  EXPECT_THAT(text(R"({"instruction": "Go", "output": "ok"})"), HasSubstr("Response:\n[ok]/"));
}

TEST_F(InstructionData, OnlyRowsThatAreChatsNeedATemplate) {
  std::filesystem::remove(folder_.path() / "tokenizer_config.json");
  EXPECT_EQ(why(R"({"text": "abc"})"), "accepted");
  EXPECT_THAT(why("{\"text\": \"abc\"}\n{\"instruction\": \"Go\", \"output\": \"ok\"}"),
              HasSubstr("the model has no chat template"));
}

TEST_F(InstructionData, ATokenThatBeginsTextsIsThereOnce) {
  Json file = tiny_tokenizer();
  file["added_tokens"].push_back(added(259, "<|begin_of_text|>", true));
  file["added_tokens"].push_back(added(260, "<|start_header_id|>", true));
  file["added_tokens"].push_back(added(261, "<|end_header_id|>", true));
  file["added_tokens"].push_back(added(262, "<|eot_id|>", true));
  file["post_processor"] = Json::parse(R"({
      "type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<|begin_of_text|>", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}}],
      "special_tokens": {"<|begin_of_text|>": {"id": "<|begin_of_text|>", "ids": [259],
                                               "tokens": ["<|begin_of_text|>"]}}})");
  folder_.write("tokenizer.json", file.dump());
  settings_.vocabulary = 263;
  EXPECT_EQ(text(R"({"text": "abc"})"), "[<259>abc<|endoftext|>]/");
  // Qwen's template does not write it, Llama's does.
  const std::string row = R"({"instruction": "Go", "output": "ok"})";
  EXPECT_EQ(text(row), "<259><s>user\nGo<e>\n<s>assistant\n[ok<e>]\n/");
  settings_.chat_template = "llama3";
  EXPECT_EQ(text(row), "<259><260>user<261>\n\nGo<262><260>assistant<261>\n\n[ok<262>]/");
}

TEST_F(InstructionData, DamagedRowsAreNamedAndCounted) {
  const auto documents = read(
      "{\"text\": \"abc\"}\n\n{\"text\": \n[1]\n{\"a\": 1}\n{\"text\": 1}\n{\"text\": \"\"}\n"
      "{\"messages\": 1}\n{\"messages\": [1]}\n{\"messages\": [{\"role\": \"user\"}]}\n"
      "{\"messages\": [{\"role\": \"tool\\n\", \"content\": \"\"}]}\n"
      "{\"messages\": [{\"role\": \"user\", \"content\": \"a\"}]}\n"
      "{\"instruction\": \"a\"}\n{\"text\": \"\xFF\"}\n{\"text\": \"def\"}\n");
  ASSERT_TRUE(documents.ok()) << documents.error().message;
  EXPECT_EQ(documents->documents.count(), 2u);
  EXPECT_EQ(documents->damaged, 12);
  EXPECT_THAT(documents->first_damaged,
              ElementsAre("line 3: it is not JSON", "line 4: it is no JSON object",
                          "line 5: has none of \"messages\", \"instruction\" and \"text\"",
                          "line 6: \"text\" is no text", "line 7: its \"text\" is empty",
                          "line 8: \"messages\" is no list", "line 9: a message is no object",
                          "line 10: a message has no \"role\" or no \"content\"",
                          "line 11: the role tool\\u000a is none of system, user and assistant",
                          "line 12: has no reply"));
}

TEST_F(InstructionData, RowsSurviveDamage) {
  const Json rows[] = {
      {{"messages",
        {{{"role", "user"}, {"content", "a"}}, {{"role", "assistant"}, {"content", "b"}}}}},
      {{"instruction", "a"}, {"input", "b"}, {"output", "c"}},
      {{"text", "a"}}};
  Random random(31);
  std::string all = "{\"text\": \"x\"}\n";
  for (int round = 0; round < 600; ++round) all += damaged(rows[round % 3], random).dump() + "\n";
  const auto documents = read(all);
  ASSERT_TRUE(documents.ok()) << documents.error().message;
  EXPECT_EQ(static_cast<std::int64_t>(documents->documents.count()) + documents->damaged, 601);
  EXPECT_GT(documents->damaged, 300);
  EXPECT_EQ(documents->first_damaged.size(), 10u);
}

TEST_F(InstructionData, AFileWithoutRowsIsRefused) {
  EXPECT_THAT(why("\n \n"), HasSubstr("rows.jsonl: holds no rows; a row is a JSON object with"));
  settings_.file = folder_.path() / "absent.jsonl";
  EXPECT_THAT(why(""), HasSubstr("absent.jsonl"));
}

TEST_F(InstructionData, ATokenizerOfALargerModelIsRefused) {
  settings_.vocabulary = 258;
  EXPECT_EQ(why("{\"text\": \"abc\"}"),
            folder_.path().string() +
                ": the tokenizer has 259 tokens and the model 258; give a "
                "model and its own tokenizer");
}

TEST_F(InstructionData, TokensAreKeptAndDamagedOnesMadeAnew) {
  settings_.cache = folder_.path() / "cache";
  const std::string rows = "{\"instruction\": \"Go\", \"output\": \"ok\"}\nbad\n";
  const auto first = read(rows), second = read(rows);
  EXPECT_FALSE(first->from_cache);
  EXPECT_TRUE(second->from_cache);
  EXPECT_EQ(first->documents.tokens, second->documents.tokens);
  EXPECT_EQ(first->documents.has_loss, second->documents.has_loss);
  EXPECT_EQ(first->documents.ends, second->documents.ends);
  EXPECT_EQ(second->damaged, 1);
  EXPECT_EQ(first->first_damaged, second->first_damaged);
  for (const auto& entry : std::filesystem::directory_iterator(settings_.cache)) {
    std::string bytes = *read_file(entry.path());
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    std::ofstream(entry.path(), std::ios::binary) << bytes;
  }
  EXPECT_FALSE(read(rows)->from_cache);
  EXPECT_TRUE(read(rows)->from_cache);
}

/// Room for two of the three: the one that was not used is removed. Large ones are not kept.
TEST_F(InstructionData, TheCacheIsBounded) {
  settings_.cache = folder_.path() / "cache";
  const auto rows = [](int i) {
    return fmt::format("{{\"text\": \"{} {}\"}}\n", i, std::string(500, 'a'));
  };
  EXPECT_FALSE(read(rows(0))->from_cache);
  const auto entry = std::filesystem::directory_iterator(settings_.cache)->path();
  settings_.most_cached = 2 * std::filesystem::file_size(entry) + 100;
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  EXPECT_FALSE(read(rows(1))->from_cache);
  for (const auto& one : std::filesystem::directory_iterator(settings_.cache)) {
    std::filesystem::last_write_time(one.path(), old);
  }
  EXPECT_TRUE(read(rows(0))->from_cache);
  EXPECT_FALSE(read(rows(2))->from_cache);
  EXPECT_TRUE(read(rows(0))->from_cache);
  EXPECT_TRUE(read(rows(2))->from_cache);
  EXPECT_FALSE(read(rows(1))->from_cache);
  settings_.most_cached = 1000;
  EXPECT_FALSE(read(rows(3))->from_cache);
  EXPECT_FALSE(read(rows(3))->from_cache);
}

TEST_F(InstructionData, WhatChangesTheTokensIsNotTakenFromTheCache) {
  settings_.cache = folder_.path() / "cache";
  const std::string rows = R"({"instruction": "Go", "output": "ok"})";
  EXPECT_FALSE(read(rows)->from_cache);
  EXPECT_FALSE(read(rows + "\n")->from_cache);
  settings_.loss_on_all = true;
  EXPECT_FALSE(read(rows)->from_cache);
  settings_.chat_template = "alpaca";
  EXPECT_FALSE(read(rows)->from_cache);
  Json file = tiny_tokenizer();
  file["version"] = "2.0";
  folder_.write("tokenizer.json", file.dump());
  EXPECT_FALSE(read(rows)->from_cache);
  EXPECT_TRUE(read(rows)->from_cache);
}

/// The data and the kind of model with which tests train and then serve.
TEST(TinyModel, ReadsTheCodeWords) {
  TransformerShape shape = parse_decoder_shape("4L4H2K32D128C384F320V").value();
  shape.tied = shape.head_norms = true;
  const TemporaryFolder folder;
  write_tiny_model(folder, shape);
  EXPECT_EQ(read_decoder_config(folder.path()).value(), shape);
  const TransformerParameters layout = TransformerParameters::of(shape);
  EXPECT_TRUE(DecoderFiles::open(folder.path(), tensors_of_shard(shape, layout)).ok());
  const auto rows =
      read_instructions({.file = ASSAY_SOURCE_DIR "/tests/data/finetune/code_words.jsonl",
                         .model = folder.path(),
                         .vocabulary = shape.vocabulary});
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_EQ(rows->documents.count(), 32u);
  EXPECT_EQ(rows->damaged, 0);
  EXPECT_EQ(pack_documents(rows->documents, 64, Packing::documents, 1).cut, 0);
}

}  // namespace
}  // namespace assay
