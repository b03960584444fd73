// A model is trained on a file of chats, an adapter of it on another, and the server answers with
// what each has learnt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/read_file.h"
#include "e2e/served.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"

namespace assay {
namespace {

using Chat = std::pair<std::string, std::string>;  // a question and its answer

/// A Qwen of a million parameters.
TransformerShape small_qwen() {
  TransformerShape shape = parse_decoder_shape("4L4H2K32D128C512F320V").value();
  shape.head_norms = true;
  return shape;
}

/// The chats of tests/data/finetune/code_words.jsonl.
std::vector<Chat> code_words() {
  std::vector<Chat> chats;
  std::istringstream lines(
      read_file(ASSAY_SOURCE_DIR "/tests/data/finetune/code_words.jsonl").value());
  for (std::string line; std::getline(lines, line);) {
    const Json messages = Json::parse(line)["messages"];
    chats.emplace_back(messages[0]["content"], messages[1]["content"]);
  }
  return chats;
}

std::string jsonl_of(const std::vector<Chat>& chats) {
  std::string text;
  for (const auto& [question, answer] : chats) {
    text += Json{{"messages",
                  {{{"role", "user"}, {"content", question}},
                   {{"role", "assistant"}, {"content", answer}}}}}
                .dump() +
            "\n";
  }
  return text;
}

class FinetuneAndServe : public testing::Test {
 protected:
  /// Fine-tunes the weights of a folder on a CPU; the result goes to `output`.
  void finetune(const std::string& weights, const std::string& data, const std::string& output,
                std::vector<std::string> more) {
    std::vector<std::string> words = {"run",
                                      "finetune",
                                      "weights=" + weights,
                                      "data=" + data,
                                      "batch=4",
                                      "sequence=128",
                                      "precision=f32",
                                      "rate=3e-3",
                                      "schedule=constant",
                                      "--device",
                                      "cpu",
                                      "--telemetry",
                                      "off",
                                      "output=" + output};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = assay_run(words, {{"XDG_CACHE_HOME", folder_.path()}});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
  }

  /// The number of questions that a server answers rightly.
  std::size_t right_answers(const std::vector<Chat>& chats, std::vector<std::string> words) const {
    words.insert(words.begin(), "serve");
    for (const char* word : {"--device", "cpu", "--port", "0", "--precision", "f32"}) {
      words.emplace_back(word);
    }
    Process server(words);
    const auto ports = ports_of(server, 1);
    if (ports.empty()) {
      ADD_FAILURE() << server.error_text();
      return 0;
    }
    std::size_t right = 0;
    for (const auto& [question, answer] : chats) {
      const Json body = {{"messages", {{{"role", "user"}, {"content", question}}}},
                         {"max_tokens", 16},
                         {"temperature", 0}};
      const Json reply = Json::parse(
          body_of(ask(ports[0], post("/v1/chat/completions", body.dump()))), nullptr, false);
      right += reply.is_object() && reply["choices"][0]["message"]["content"] == answer ? 1 : 0;
    }
    return right;
  }

  const TemporaryFolder folder_;
};

/// A row of a file in sixteen is held back, which holds two or three of the chats.
TEST_F(FinetuneAndServe, TheServerAnswersWithWhatWasLearnt) {
  const TemporaryFolder model;
  write_tiny_model(model, small_qwen());
  const std::vector<Chat> chats = code_words();
  std::vector<Chat> others = chats;  // the same questions with the answers of their neighbours
  for (std::size_t i = 0; i < chats.size(); ++i) {
    others[i].second = chats[(i + 1) % chats.size()].second;
  }
  const std::string base = folder_.path() / "base", adapter = folder_.path() / "adapter";
  folder_.write("others.jsonl", jsonl_of(others));
  folder_.write("chats.jsonl", jsonl_of(chats));
  ASSERT_NO_FATAL_FAILURE(
      finetune(model.path(), folder_.path() / "others.jsonl", base, {"steps=100"}));
  ASSERT_NO_FATAL_FAILURE(finetune(base, folder_.path() / "chats.jsonl", adapter,
                                   {"mode=lora", "rank=16", "steps=90"}));
  EXPECT_LE(right_answers(chats, {"--weights", base}), chats.size() / 4);
  EXPECT_GE(right_answers(chats, {"--weights", base, "--adapter", adapter}), chats.size() * 3 / 4);
}

}  // namespace
}  // namespace assay
