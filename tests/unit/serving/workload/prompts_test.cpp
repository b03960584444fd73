#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "serving/workload/arrivals.h"
#include "serving/workload/prompt_settings.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Lt;

std::unique_ptr<Prompts> made(const PromptSettings& settings) {
  auto prompts = make_prompts(settings);
  EXPECT_TRUE(prompts.ok()) << prompts.error().message;
  return prompts.ok() ? std::move(*prompts) : nullptr;
}

std::string error_of(const PromptSettings& settings) {
  const auto prompts = make_prompts(settings);
  return prompts.ok() ? "accepted" : prompts.error().message;
}

std::size_t words_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), ' ')) + 1;
}

class PromptFile {
 public:
  explicit PromptFile(const std::string& text) : path_(folder_.write("prompts", text)) {}
  std::string path() const { return path_.string(); }

 private:
  TemporaryFolder folder_;
  std::filesystem::path path_;
};

PromptSettings of_file(Dataset dataset, const PromptFile& file, std::size_t count) {
  PromptSettings settings;
  settings.dataset = dataset;
  settings.file = file.path();
  settings.count = count;
  return settings;
}

TEST(RandomPrompts, LengthsAndIdsAreExact) {
  PromptSettings settings;
  settings.input_tokens = 100;
  settings.output_tokens = 7;
  settings.count = 50;
  const auto prompts = made(settings);
  ASSERT_EQ(prompts->size(), 50u);
  std::set<std::vector<std::uint32_t>> different;
  for (std::size_t i = 0; i < prompts->size(); ++i) {
    const Prompt prompt = prompts->at(i);
    EXPECT_EQ(prompt.ids.size(), 100u);
    EXPECT_EQ(prompt.tokens, 100u);
    EXPECT_EQ(prompt.output_tokens, 7u);
    EXPECT_EQ(prompt.conversation, i);
    EXPECT_TRUE(prompt.text.empty());
    EXPECT_LT(prompts->recorded_seconds(i), 0);
    EXPECT_THAT(prompt.ids, Each(AllOf(Ge(1000u), Lt(28000u))));
    different.insert({prompt.ids.begin(), prompt.ids.begin() + 4});
  }
  EXPECT_EQ(different.size(), 50u);  // no two begin alike, so no prefix cache helps
}

TEST(RandomPrompts, OneSeedIsOneWorkload) {
  PromptSettings settings;
  settings.input_spread = 0.5;
  const auto one = made(settings), same = made(settings);
  EXPECT_EQ(one->at(17).ids, same->at(17).ids);
  settings.prefix_tokens = 5;  // a prefix does not change the rest
  const auto longer = made(settings);
  const auto ids = longer->at(17).ids;
  EXPECT_EQ(std::vector(ids.begin() + 5, ids.end()), one->at(17).ids);
  settings.seed = 1;
  EXPECT_NE(made(settings)->at(17).ids, ids);
}

TEST(RandomPrompts, LengthsAreUniform) {
  PromptSettings settings;
  settings.input_tokens = 5;
  settings.input_spread = 0.3;  // floor 3.5 to ceil 6.5
  settings.output_tokens = 2;
  settings.output_spread = 0.9;  // floor 0.2, but at least 1, to ceil 3.8
  settings.count = 10000;
  const auto prompts = made(settings);
  std::map<std::uint64_t, int> inputs, outputs;
  for (std::size_t i = 0; i < settings.count; ++i) {
    ++inputs[prompts->at(i).tokens];
    ++outputs[prompts->at(i).output_tokens];
  }
  ASSERT_EQ(inputs.begin()->first, 3u);
  ASSERT_EQ(inputs.rbegin()->first, 7u);
  for (const auto& [length, times] : inputs) EXPECT_NEAR(times, 2000, 200) << length;
  EXPECT_EQ(outputs.begin()->first, 1u);
  EXPECT_EQ(outputs.rbegin()->first, 4u);
  for (const auto& [length, times] : outputs) EXPECT_NEAR(times, 2500, 250) << length;
}

TEST(RandomPrompts, SharePrefixAndKeepToTheVocabulary) {
  PromptSettings settings;
  settings.input_tokens = 20;
  settings.prefix_tokens = 30;
  settings.vocabulary = 2000;
  const auto prompts = made(settings);
  const auto a = prompts->at(0).ids, b = prompts->at(1).ids;
  ASSERT_EQ(a.size(), 50u);
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 30, b.begin()));
  EXPECT_NE(a[30], b[30]);
  EXPECT_THAT(a, Each(AllOf(Ge(200u), Lt(1800u))));
}

TEST(RandomPrompts, AsTextForServersWithoutIds) {
  PromptSettings settings;
  settings.input_tokens = 20;
  settings.words_per_token = 0.8;
  const Prompt prompt = made(settings)->at(3);
  EXPECT_TRUE(prompt.ids.empty());
  EXPECT_EQ(words_of(prompt.text), 16u);
  EXPECT_EQ(prompt.tokens, 20u);
  EXPECT_NE(prompt.text, made(settings)->at(4).text);
}

TEST(PrefixPrompts, EveryPrefixEquallyOftenInRandomOrder) {
  PromptSettings settings;
  settings.dataset = Dataset::prefix_repetition;
  settings.prefixes = 3;
  settings.prefix_tokens = 8;
  settings.input_tokens = 4;
  settings.count = 31;
  const auto prompts = made(settings);
  ASSERT_EQ(prompts->size(), 30u);
  std::map<std::vector<std::uint32_t>, int> prefixes, suffixes;
  std::vector<std::uint32_t> firsts;
  for (std::size_t i = 0; i < prompts->size(); ++i) {
    const Prompt prompt = prompts->at(i);
    ASSERT_EQ(prompt.ids.size(), 12u);
    ++prefixes[{prompt.ids.begin(), prompt.ids.begin() + 8}];
    ++suffixes[{prompt.ids.begin() + 8, prompt.ids.end()}];
    firsts.push_back(prompt.ids[0]);
  }
  EXPECT_EQ(prefixes.size(), 3u);
  for (const auto& [prefix, times] : prefixes) EXPECT_EQ(times, 10);
  EXPECT_EQ(suffixes.size(), 30u);
  bool round_robin = true;
  for (std::size_t i = 3; i < firsts.size(); ++i) round_robin &= firsts[i] == firsts[i - 3];
  EXPECT_FALSE(round_robin);
  settings.count = 2;
  EXPECT_EQ(error_of(settings), "number of prefixes 3 is not between 1 and 2");
}

TEST(ConversationPrompts, TurnsAreNeighboursWithTimeToThink) {
  PromptSettings settings;
  settings.dataset = Dataset::multi_turn;
  settings.turns = 3;
  settings.think_seconds = 2;
  settings.input_tokens = 12;
  settings.count = 11;
  const auto prompts = made(settings);
  ASSERT_EQ(prompts->size(), 9u);
  for (std::size_t i = 0; i < 9; ++i) {
    const Prompt prompt = prompts->at(i);
    EXPECT_EQ(prompt.conversation, i / 3);
    EXPECT_EQ(prompt.turn, i % 3);
    EXPECT_EQ(prompt.think_seconds, i % 3 == 0 ? 0 : 2);
    EXPECT_EQ(words_of(prompt.text), 12u);
    EXPECT_EQ(prompt.output_tokens, 128u);
  }
  EXPECT_NE(prompts->at(0).text, prompts->at(3).text);
}

std::string conversation(const std::string& prompt, const std::string& reply) {
  return R"({"id":"x","conversations":[{"from":"human","value":")" + prompt +
         R"("},{"from":"gpt","value":")" + reply + R"("}]})";
}

TEST(SharegptPrompts, FilterOfVllm) {
  const std::string ok(40, 'p'), reply(20, 'r');
  const std::string all[] = {
      conversation(ok, reply),                                       // fits
      conversation(std::string(12, 'p'), reply),                     // 3 tokens
      conversation(std::string(13, 'q'), std::string(13, 'r')),      // just fits
      conversation(std::string(40, 's'), std::string(12, 'r')),      // a reply of 3
      conversation(std::string(4097, 'p'), reply),                   // 1025
      conversation(std::string(4096, 'm'), std::string(4096, 'r')),  // 1024 and 1024: fits
      conversation(std::string(4096, 'p'), std::string(4097, 'r')),  // 2049
      R"({"conversations":[{"value":"alone, without any reply"}]})",
      R"({"conversations":[]})"};
  std::string text = "[\n";
  for (const std::string& one : all) text += (text.size() > 2 ? ",\n" : "") + one;
  const PromptFile file(text + "\n]\n");
  PromptSettings settings = of_file(Dataset::sharegpt, file, 20);  // all that fit, some repeatedly
  const auto prompts = made(settings);
  std::map<std::string, std::uint64_t> found;
  for (std::size_t i = 0; i < 20; ++i) {
    const Prompt prompt = prompts->at(i);
    found[prompt.text.substr(0, 13)] = prompt.output_tokens;
    EXPECT_EQ(prompt.tokens, 0u);  // an estimate must not be compared with the server's count
  }
  EXPECT_EQ(found, (std::map<std::string, std::uint64_t>{{std::string(13, 'p'), 5},
                                                         {std::string(13, 'q'), 4},
                                                         {std::string(13, 'm'), 1024}}));
  // With a given output length, neither short nor long replies leave a conversation out.
  settings.output_tokens = 100;
  const auto fixed = made(settings);
  std::set<std::string> texts;
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(fixed->at(i).output_tokens, 100u);
    texts.insert(fixed->at(i).text);
  }
  EXPECT_EQ(texts.size(), 5u);
}

TEST(JsonlPrompts, EveryOneEquallyLikelyAndAgainIfTheyAreFew) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += R"({"prompt": "number )" + std::to_string(i) + R"(", "output_tokens": )" +
            std::to_string(i + 1) + "}\r\n";
  }
  const PromptFile file("\xef\xbb\xbf" + text);
  std::map<std::string, int> times;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    PromptSettings settings = of_file(Dataset::jsonl, file, 10);
    settings.seed = seed;
    const auto prompts = made(settings);
    std::set<std::string> texts;
    for (std::size_t i = 0; i < 10; ++i) texts.insert(prompts->at(i).text);
    EXPECT_EQ(texts.size(), 10u);
    for (const std::string& one : texts) ++times[one];
  }
  EXPECT_EQ(times.size(), 100u);
  for (const auto& [one, count] : times) EXPECT_NEAR(count, 40, 25) << one;
  const auto more = made(of_file(Dataset::jsonl, file, 150));
  EXPECT_EQ(more->size(), 150u);
  std::set<std::string> texts;
  for (std::size_t i = 0; i < 100; ++i) {
    const Prompt prompt = more->at(i);
    EXPECT_EQ(prompt.text, "number " + std::to_string(prompt.output_tokens - 1));
    texts.insert(prompt.text);
  }
  EXPECT_EQ(texts.size(), 100u);
  EXPECT_EQ(more->at(120).text, more->at(120).text);
  EXPECT_EQ(more->at(120).conversation, 120u);
}

TEST(TracePrompts, EqualHashesAreEqualBlocks) {
  const PromptFile file(
      R"({"timestamp": 1000, "input_length": 10, "output_length": 5, "hash_ids": [7, 8, 9]}
{"timestamp": 3500, "input_length": 9, "output_length": 6, "hash_ids": [7, 8]}
{"timestamp": 3500, "input_length": 3, "output_length": 0}
)");
  PromptSettings settings = of_file(Dataset::trace, file, 100);
  settings.block_tokens = 4;
  const auto prompts = made(settings);
  ASSERT_EQ(prompts->size(), 3u);
  const auto a = prompts->at(0).ids, b = prompts->at(1).ids;
  ASSERT_EQ(a.size(), 10u);
  ASSERT_EQ(b.size(), 9u);
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 8, b.begin()));
  EXPECT_NE(a[8], b[8]);
  EXPECT_NE(a[0], a[4]);
  EXPECT_EQ(prompts->at(1).tokens, 9u);
  EXPECT_EQ(prompts->at(1).output_tokens, 6u);
  EXPECT_EQ(prompts->at(2).output_tokens, 1u);  // 0 would ask for a reply of any length
  EXPECT_EQ(prompts->at(2).ids.size(), 3u);
  EXPECT_EQ(prompts->recorded_seconds(1), 3.5);
  EXPECT_THAT(*recorded_arrivals(*prompts, 5), ElementsAre(0, 0.5, 0.5));
  settings.count = 2;
  EXPECT_EQ(made(settings)->size(), 2u);
}

TEST(PromptFiles, MistakesNameTheirLine) {
  const auto error = [](Dataset dataset, const std::string& text) {
    const PromptFile file(text);
    const std::string message = error_of(of_file(dataset, file, 10));
    const auto name = message.find(file.path());
    return name == std::string::npos ? message : message.substr(name + file.path().size());
  };
  using enum Dataset;
  EXPECT_EQ(error(jsonl, "{\"prompt\":\"a\"}\n{\"prompt\":3}\n"), ":2: prompt is not text");
  EXPECT_EQ(error(jsonl, "{\"prompt\":\"a\"}\n\n{\"prompt\"\n}\n"), ":3: it is not JSON");
  EXPECT_EQ(error(jsonl, "{\"prompt\":\"a\"}\nb"), ":2: expected the start of an object here");
  EXPECT_EQ(error(jsonl, "{\"prompt\":\"a\"}\n{\"prompt\": \"\\\"}\n"),
            ":2: the file ends within an object");
  EXPECT_EQ(error(jsonl, "[{\"prompt\":\"a\"},\n{\"prompt\":\"b\"},\n"),
            ":3: the file ends within an array; is it whole?");
  EXPECT_EQ(error(jsonl, "{\"prompt\":\"a\",\"output_tokens\":-1}"),
            ":1: output_tokens -1 is not between 0 and 10000000");
  EXPECT_EQ(error(jsonl, "{\"prompt\":\"a\",\"output_tokens\":1.5}"),
            ":1: output_tokens 1.5 is not a whole number");
  EXPECT_EQ(error(jsonl, "{\"prompt\":\"\xc3\"}"), ":1: it is not JSON");
  EXPECT_EQ(error(jsonl, ""), ": none of its 0 entries is a usable prompt");
  EXPECT_EQ(error(jsonl, "{\"prompt\":" + std::string(100, '[')),
            ":1: its JSON is nested more than 64 levels deep");
  EXPECT_EQ(error(jsonl, "{\"prompt\":\"" + std::string(17 << 20, 'x')),
            ":1: an object is larger than 16 MiB");
  EXPECT_EQ(error(sharegpt, "[{\"id\":1}]"), ":1: conversations is not an array");
  EXPECT_EQ(error(sharegpt, "[{\"conversations\":[1,2]}]"), ":1: value is not text");
  EXPECT_EQ(error(sharegpt, "[{\"conversations\":[]}]"),
            ": none of its 1 entries is a usable prompt");
  const std::string row = "{\"timestamp\":1,\"input_length\":8,\"output_length\":1";
  EXPECT_EQ(error(trace, row + ",\"hash_ids\":[1,2]}"),
            ":1: 2 hash_ids of 512 tokens each are more than its 8 tokens");
  EXPECT_EQ(error(trace, row + ",\"hash_ids\":[-1]}"), ":1: hash_ids must hold only whole numbers");
  EXPECT_EQ(error(trace, "{\"timestamp\":1,\"input_length\":1e99,\"output_length\":1}"),
            ":1: input_length 1e+99 is not between 0 and 10000000");
  EXPECT_EQ(error(trace, "[]"), ": it has no requests");
  PromptSettings settings;
  settings.dataset = jsonl;
  settings.file = "/nonexistent/prompts";
  EXPECT_EQ(error_of(settings), "cannot read /nonexistent/prompts: No such file or directory");
  settings.file = "/";
  EXPECT_EQ(error_of(settings), "cannot read /: Is a directory");
}

TEST(PromptSettings, AreChecked) {
  PromptSettings settings;
  settings.input_spread = 1;
  EXPECT_EQ(error_of(settings), "spread of the input length 1 is not between 0 and 0.999");
  settings = {};
  settings.count = 0;
  EXPECT_THAT(error_of(settings), HasSubstr("number of prompts 0"));
  settings = {};
  settings.input_tokens = 1ull << 60;
  EXPECT_THAT(error_of(settings), HasSubstr("input length"));
  settings = {};
  settings.vocabulary = 10;
  EXPECT_THAT(error_of(settings), HasSubstr("vocabulary 10"));
}

}  // namespace
}  // namespace assay
