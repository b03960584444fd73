// Text as tokens and back: byte pairs, patterns, added tokens, and files that are none.
#include "model/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "core/random.h"
#include "core/read_file.h"
#include "core/utf8.h"
#include "support/damaged_json.h"
#include "support/temporary_folder.h"
#include "support/tokenizer_file.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tokenizer made(const Json& file) {
  auto tokenizer = Tokenizer::parse(file.dump());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  return tokenizer.ok() ? std::move(*tokenizer) : Tokenizer::bytes();
}

std::string why(const Json& file) {
  const auto tokenizer = Tokenizer::parse(file.dump());
  return tokenizer.ok() ? "accepted" : tokenizer.error().message;
}

/// The texts of each token, e.g. "un|want|ed".
std::string cut(const Tokenizer& tokenizer, std::string_view text) {
  std::string all;
  for (const std::int32_t id : tokenizer.encode(text)) {
    all += (all.empty() ? "" : "|") + tokenizer.decode(std::vector{id});
  }
  return all;
}

TEST(Tokenizer, OfBytes) {
  const Tokenizer bytes = Tokenizer::bytes();
  EXPECT_THAT(bytes.encode("a\xFFz"), ElementsAre(97, 255, 122));
  EXPECT_EQ(bytes.decode(std::vector<std::int32_t>{72, 105, 0xC3, 0xA4}), "Hi\u00e4");
  EXPECT_EQ(bytes.decode(std::vector<std::int32_t>{72, -1, 256, 105}), "Hi");
  EXPECT_EQ(bytes.vocabulary(), 256);
  EXPECT_TRUE(bytes.begin().empty());
}

TEST(Tokenizer, MergesByRankAndThenFromTheLeft) {
  const Tokenizer t =
      made(llama_like({{"a", "b"}, {"b", "c"}, {"a", "a"}, {"aa", "aa"}, {"ab", "c"}}));
  EXPECT_EQ(cut(t, "abc"), "abc");  // ab first: bc comes later
  EXPECT_EQ(cut(t, "bcab"), "bc|ab");
  EXPECT_EQ(cut(t, "aaa"), "aa|a");  // the left pair of two alike
  EXPECT_EQ(cut(t, "aaaaaaa"), "aaaa|aa|a");
  EXPECT_EQ(cut(t, "aab"), "a|ab");  // ab has the lower rank, though aa is further left
  EXPECT_THAT(t.encode("abc"), ElementsAre(260));
}

TEST(Tokenizer, MayTakeWholePiecesBeforeMerges) {
  Json file = llama_like({{"b", "c"}, {"a", "b"}});
  file["model"]["vocab"]["abcd"] = 300;  // reached by no merges
  EXPECT_EQ(cut(made(file), "abcd"), "a|bc|d");
  file["model"]["ignore_merges"] = true;
  EXPECT_EQ(cut(made(file), "abcd"), "abcd");
  EXPECT_EQ(cut(made(file), "abcd abcd"), "abcd| |a|bc|d");  // the piece " abcd" is no token
}

/// Merges never cross the pieces of Llama 3's pattern: each piece is a token, and so are pieces
/// together, which must not be taken.
TEST(Tokenizer, SplitsAsLlama3) {
  std::vector<std::pair<std::string, std::string>> merges;
  const auto word = [&](const std::vector<unsigned>& bytes) {
    std::string left = written(bytes[0]);
    for (std::size_t i = 1; i < bytes.size(); ++i) {
      merges.emplace_back(left, written(bytes[i]));
      left += written(bytes[i]);
    }
  };
  for (const std::string_view text :
       {" world", "Hello", "'S", "123", "4", " !!\n", "  ", " \n\n", "\xC3\xA4h", " a", "\tx"}) {
    std::vector<unsigned> bytes;
    for (const char letter : text) bytes.push_back(static_cast<unsigned char>(letter));
    word(bytes);
  }
  const auto as_written = [](std::string_view text) {
    std::string all;
    for (const char letter : text) all += written(static_cast<unsigned char>(letter));
    return all;
  };
  for (const auto& [left, right] : {std::pair{"Hello", " world"},
                                    {"123", "4"},
                                    {"Hello", "'S"},
                                    {"Hello", "  "},
                                    {"Hello", " !!\n"},
                                    {" \n\n", "Hello"}}) {
    merges.emplace_back(as_written(left), as_written(right));
  }
  const Tokenizer t = made(llama_like(merges));
  EXPECT_EQ(cut(t, "Hello world"), "Hello| world");
  EXPECT_EQ(cut(t, "1234"), "123|4");
  EXPECT_EQ(cut(t, "Hello'S"), "Hello|'S");
  EXPECT_EQ(cut(t, "Hello   world"), "Hello|  | world");  // the last space goes to the word
  EXPECT_EQ(cut(t, "Hello !!\n"), "Hello| !!\n");
  EXPECT_EQ(cut(t, "Hello \n\nHello"), "Hello| \n\n|Hello");
  EXPECT_EQ(cut(t, "\xC3\xA4h"), "\xC3\xA4h");
  EXPECT_EQ(cut(t, "a\tx"), "a|\tx");
  EXPECT_EQ(cut(t, "Hello  "), "Hello|  ");
}

TEST(Tokenizer, FindsAddedTokensFirst) {
  Json file = llama_like({{"<", "|"}});
  file["added_tokens"] = {added(300, "<|end|>", true), added(301, "<|end|>!", false),
                          added(302, "<think>", false)};
  const Tokenizer t = made(file);
  EXPECT_THAT(t.encode("a<|end|>b"), ElementsAre(97, 300, 98));
  EXPECT_THAT(t.encode("<|end|>!"), ElementsAre(301));  // of two the longer one
  EXPECT_THAT(t.encode("<|en"), ElementsAre(256, 101, 110));
  EXPECT_EQ(t.decode(std::vector<std::int32_t>{97, 300, 302, 98}), "a<think>b");  // 300 is special
  EXPECT_TRUE(t.is_special(300));
  EXPECT_FALSE(t.is_special(302));
  EXPECT_EQ(t.find("<|end|>"), 300);
  EXPECT_EQ(t.find("<|"), 256);
  EXPECT_EQ(t.find("<|start|>"), std::nullopt);
  EXPECT_EQ(t.vocabulary(), 303);
}

TEST(Tokenizer, KnowsWhatBeginsAText) {
  Json file = llama_like({});
  file["added_tokens"] = Json::array({added(256, "<|begin|>", true)});
  const Json step = {{"SpecialToken", {{"id", "<|begin|>"}, {"type_id", 0}}}};
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  file["post_processor"] = {
      {"type", "Sequence"},
      {"processors",
       {file["decoder"], {{"type", "TemplateProcessing"}, {"single", {step, text}}}}}};
  EXPECT_THAT(made(file).begin(), ElementsAre(256));
  EXPECT_THAT(made(file).encode("a"), ElementsAre(97));
  file["post_processor"]["processors"][1]["single"] = {text, step};
  EXPECT_THAT(why(file), HasSubstr("after a text"));
}

TEST(Tokenizer, ComposesForQwen) {
  Json file = llama_like({{written(0xC3), written(0xA4)}});
  const std::string apart = "a\xCC\x88";  // a and a diaeresis
  EXPECT_THAT(made(file).encode(apart), ElementsAre(97, 0xCC, 0x88));
  file["normalizer"] = {{"type", "NFC"}};
  EXPECT_THAT(made(file).encode(apart), ElementsAre(256));
}

TEST(Tokenizer, ReplacesWhatIsNotUtf8) {
  const Tokenizer t = made(llama_like({}));
  EXPECT_THAT(t.encode("a\xFF"), ElementsAre(97, 0xEF, 0xBF, 0xBD));
  EXPECT_EQ(t.decode(std::vector<std::int32_t>{0xF0, 0x9F, 97}), "\uFFFDa");  // one for two bytes
}

TEST(Tokenizer, RoundTripsText) {
  const Tokenizer t = made(llama_like({{"h", "e"}, {written(' '), "t"}}));
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      constexpr const char* parts[] = {"he", " t", "\n", "\u00e4", "\u4e2d", "\U0001F600",
                                       "7",  "\t", "  ", "'s",     ",",      "\r\n"};
      text += parts[random.next() % 12];
    }
    EXPECT_EQ(t.decode(t.encode(text)), text);
  }
}

TEST(Tokenizer, StreamsWhatIsComplete) {
  const Tokenizer bytes = Tokenizer::bytes();
  StreamingDecoder stream(bytes);
  EXPECT_EQ(stream.add('a'), "a");
  EXPECT_EQ(stream.add(0xF0), "");
  EXPECT_EQ(stream.add(0x9F), "");
  EXPECT_EQ(stream.add(0x98), "");
  EXPECT_EQ(stream.add(0x80), "\U0001F600");
  EXPECT_EQ(stream.add(0xC3), "");
  EXPECT_EQ(stream.add('b'), "\uFFFDb");
  EXPECT_EQ(stream.add(0xE4), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
  EXPECT_EQ(stream.finish(), "");
  // Whatever comes: the parts are the whole.
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int32_t> tokens;
    std::string parts;
    for (int i = 0; i < 30; ++i) {
      constexpr std::int32_t some[] = {'a',  0x80, 0xBF, 0xC3, 0xA4, 0xE4, 0xB8, 0xAD,
                                       0xED, 0xF0, 0x9F, 0xF4, 0x90, 0xFF, 0xE0};
      tokens.push_back(some[random.next() % 15]);
      parts += stream.add(tokens.back());
    }
    EXPECT_EQ(parts + stream.finish(), bytes.decode(tokens));
  }
}

/// Small tokenizers of Llama 3's and Qwen's form, and what scripts/tokenizer_golden.py makes of
/// texts by the definition.
TEST(Tokenizer, AgreesWithTheDefinition) {
  const std::string path = std::string(ASSAY_SOURCE_DIR) + "/tests/data/tokenizer_golden.json";
  const Json golden = Json::parse(read_file(path).value());
  ASSERT_EQ(golden.size(), 2u);
  for (const auto& [name, one] : golden.items()) {
    SCOPED_TRACE(name);
    const Tokenizer t = made(one["file"]);
    EXPECT_EQ(t.begin().size(), name == "llama3" ? 1u : 0u);
    ASSERT_GT(one["cases"].size(), 30u);
    for (const Json& test : one["cases"]) {
      const auto tokens = test["tokens"].get<std::vector<std::int32_t>>();
      EXPECT_EQ(t.encode(test["text"].get<std::string>()), tokens) << test["text"];
      EXPECT_EQ(t.decode(tokens), test["decoded"].get<std::string>()) << test["text"];
    }
    for (const Json& test : one["decoded"]) {
      EXPECT_EQ(t.decode(test["tokens"].get<std::vector<std::int32_t>>()),
                test["text"].get<std::string>());
    }
  }
}

/// A megabyte without a place to split, and one of spaces: seconds if merging were quadratic.
TEST(Tokenizer, TakesLongWords) {
  const Tokenizer t = made(llama_like({{"a", "a"}, {"aa", "aa"}, {"aaaa", "aaaa"}}));
  EXPECT_EQ(t.encode(std::string(1 << 20, 'a')).size(), (1 << 20) / 8);
  EXPECT_EQ(t.encode(std::string(1 << 20, ' ')).size(), 1 << 20);
  const std::string text = std::string(1 << 20, ' ') + "\n" + std::string(1 << 18, '7') + "aa";
  EXPECT_EQ(t.decode(t.encode(text)), text);
}

TEST(Tokenizer, RefusesWhatItDoesNotCompute) {
  const Json usual = llama_like({{"a", "b"}});
  EXPECT_EQ(why(usual), "accepted");
  const auto with = [&](const char* pointer, Json value) {
    Json file = usual;
    file[Json::json_pointer(pointer)] = std::move(value);
    return why(file);
  };
  EXPECT_THAT(with("/model/type", "WordPiece"), HasSubstr("\"WordPiece\""));
  EXPECT_THAT(with("/model/byte_fallback", true), HasSubstr("byte_fallback"));
  EXPECT_THAT(with("/model/dropout", 0.1), HasSubstr("dropout"));
  EXPECT_THAT(with("/model/end_of_word_suffix", "</w>"), HasSubstr("end_of_word_suffix"));
  EXPECT_THAT(with("/model/vocab/a", "one"), HasSubstr("\"a\""));
  EXPECT_THAT(with("/model/vocab/zz", 1 << 30), HasSubstr("\"zz\""));
  EXPECT_THAT(with("/model/vocab/zz", -1), HasSubstr("token -1"));
  EXPECT_THAT(with("/model/vocab", Json::object()), HasSubstr("byte 0"));
  EXPECT_THAT(with("/model/merges/0", "a x\xC3\xB6"), HasSubstr("its vocab lacks"));
  EXPECT_THAT(with("/model/merges/0", "ab"), HasSubstr("two tokens"));
  EXPECT_THAT(with("/model/merges/0", {"a", "b"}), "accepted");
  EXPECT_THAT(with("/normalizer", {{"type", "Lowercase"}}), HasSubstr("Lowercase"));
  EXPECT_THAT(with("/pre_tokenizer", {{"type", "Whitespace"}}), HasSubstr("Whitespace"));
  EXPECT_THAT(with("/pre_tokenizer", nullptr), HasSubstr("pre_tokenizer"));
  EXPECT_THAT(with("/pre_tokenizer/pretokenizers/0/behavior", "Removed"), HasSubstr("Isolated"));
  EXPECT_THAT(with("/pre_tokenizer/pretokenizers/0/pattern/Regex", "("), HasSubstr("character"));
  EXPECT_THAT(with("/pre_tokenizer/pretokenizers/1/add_prefix_space", true),
              HasSubstr("add_prefix_space"));
  EXPECT_THAT(with("/decoder", {{"type", "WordPiece"}}), HasSubstr("decoder"));
  EXPECT_THAT(with("/post_processor", {{"type", "Bert"}}), HasSubstr("\"Bert\""));
  Json stripped = added(256, "<x>", true);
  stripped["lstrip"] = true;
  EXPECT_THAT(with("/added_tokens", Json::array({stripped})), HasSubstr("lstrip"));
  EXPECT_THAT(with("/added_tokens", Json::array({{{"id", 1}}})), HasSubstr("added token"));
  EXPECT_FALSE(Tokenizer::parse("").ok());
  EXPECT_FALSE(Tokenizer::parse(std::string(100000, '[')).ok());
}

/// A pattern that would take forever: it is given up, and the text is still whole.
TEST(Tokenizer, EndsWhateverThePattern) {
  Json file = llama_like({});
  file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "(a+)+$";
  const Tokenizer t = made(file);
  const std::string text = std::string(64, 'a') + "b" + std::string(64, 'a') + "!";
  EXPECT_EQ(t.decode(t.encode(text)), text);
  file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "x*";  // matches nothing, too
  EXPECT_EQ(cut(made(file), "axxb"), "a|x|x|b");
}

/// Whatever is in a file: an error, or a tokenizer that works.
TEST(Tokenizer, SurvivesDamage) {
  Json file = llama_like({{"a", "b"}, {"ab", "c"}});
  file["added_tokens"] = Json::array({added(300, "<|end|>", true)});
  const Json template_of_begin = {
      {"type", "TemplateProcessing"},
      {"single", Json::array({{{"SpecialToken", {{"id", "<|end|>"}, {"type_id", 0}}}}})}};
  file["post_processor"] = {{"type", "Sequence"},
                            {"processors", {file["decoder"], template_of_begin}}};
  // Most of the file is the vocabulary: half of the damage goes elsewhere.
  Json vocabulary = file["model"]["vocab"];
  Random random(17);
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    Json changed = file;
    if (round % 2 == 0) {
      changed["model"].erase("vocab");
      changed = damaged(changed, random);
      if (changed["model"].is_object()) changed["model"]["vocab"] = vocabulary;
    } else {
      changed = damaged(changed, random);
    }
    const auto tokenizer = Tokenizer::parse(changed.dump());
    refused += tokenizer.ok() ? 0 : 1;
    if (!tokenizer.ok()) continue;
    const std::vector<std::int32_t> tokens = tokenizer->encode("abc <|end|> 12\n  ab");
    EXPECT_EQ(valid_utf8(tokenizer->decode(tokens)), tokenizer->decode(tokens));
  }
  EXPECT_GT(refused, 100);
  EXPECT_LT(refused, 1000);
}

TEST(Tokenizer, IsReadFromAFolderAndSaysWhichFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(Tokenizer::load(folder.path()).error().message, HasSubstr("tokenizer.json"));
  folder.write("tokenizer.json", llama_like({{"a", "b"}}).dump());
  EXPECT_EQ(Tokenizer::load(folder.path()).value().encode("ab").size(), 1);
  folder.write("other.json", "{}");
  EXPECT_THAT(Tokenizer::load(folder.path() / "other.json").error().message,
              HasSubstr("other.json: its model"));
}

TEST(Utf8, CutsAndReplaces) {
  EXPECT_EQ(valid_utf8("a\xE4\xB8"), "a\uFFFD");
  EXPECT_EQ(valid_utf8("\xE0\x80\x80"), "\uFFFD\uFFFD\uFFFD");  // overlong: no part of one
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(valid_utf8("\xF0\x9F\x98z"), "\uFFFDz");
  EXPECT_EQ(cut_bytes("a\xF0\x9F\x98"), 3);
  EXPECT_EQ(cut_bytes("a\xC3\xA4"), 0);
  EXPECT_EQ(cut_bytes("\xE0\x80"), 0);
  EXPECT_EQ(cut_bytes(""), 0);
}

}  // namespace
}  // namespace assay
