#include "core/yaml_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;

std::string problem(const std::string& text) {
  const auto value = parse_yaml(text, "f.yaml");
  return value.ok() ? "fine" : value.error().message;
}

TEST(Yaml, ValuesKnowTheirLines) {
  const auto value = parse_yaml(
      "\xef\xbb\xbf"
      "a: 1\r\nb:\r\n  - x\r\n  - {c: d}\r\nn:\r\n",
      "f.yaml");
  ASSERT_TRUE(value.ok()) << value.error().message;
  EXPECT_EQ(value->keys[1].text, "b");
  EXPECT_EQ(value->keys[1].line, 2);
  EXPECT_EQ(value->items[1].items[1].line, 4);
  EXPECT_EQ(value->items[1].items[1].items[0].text, "d");
  EXPECT_EQ(value->items[2].kind, YamlValue::Kind::nothing);
}

TEST(Yaml, HostileTextIsAnErrorOfItsLine) {
  EXPECT_EQ(problem("a: 1\na: 2\n"), "f.yaml:2: key \"a\" is given twice");
  EXPECT_EQ(problem("[a]: 1\n"), "f.yaml:1: a key must be text");
  EXPECT_THAT(problem("a: [1\n"), HasSubstr("f.yaml:2: "));
  EXPECT_THAT(problem(std::string(100'000, '[')), HasSubstr("f.yaml:"));
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 6; ++i) {
    bomb += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i,
                        i - 1);
  }
  EXPECT_THAT(problem(bomb), HasSubstr("more than 100000 values"));
  EXPECT_THAT(problem("a: &a\n  - *a\n"), HasSubstr("an alias holds itself"));
  EXPECT_THAT(problem("a: &a {b: {c: *a}}\n"), HasSubstr("an alias holds itself"));
}

TEST(Yaml, ASecondDocumentIsNotDroppedSilently) {
  EXPECT_THAT(problem("a: 1\n---\nb: 2\n"), HasSubstr("f.yaml:3: a second document begins here"));
  for (const char* one :
       {"---\na: 1\n", "# text\n---\na: 1\n...\n", "a: 1\n---\n", "a: 1\n---\n# b"}) {
    const auto value = parse_yaml(one, "f.yaml");
    ASSERT_TRUE(value.ok()) << one << value.error().message;
    EXPECT_EQ(value->keys.at(0).text, "a");
  }
  EXPECT_TRUE(parse_yaml("", "f.yaml").ok());
}

TEST(Yaml, ReadersSayWhatIsAllowed) {
  const auto value = parse_yaml(
      "flag: maybe\ncount: 99\nshare: 150%\ntexts: {a: b}\ntext: [a]\npairs: {a: [b]}\n", "f.yaml");
  const auto reader = YamlReader::of(*value, "f.yaml", "a map",
                                     {"flag", "count", "share", "texts", "text", "pairs"});
  ASSERT_TRUE(reader.ok());
  bool flag = false;
  std::uint64_t count = 0;
  double share = 0;
  std::vector<std::pair<std::string, std::string>> pairs;
  EXPECT_EQ(reader->flag("flag", flag).error().message,
            "f.yaml:1: \"flag\" must be on or off, not \"maybe\"");
  EXPECT_EQ(reader->count("count", 1, 9, count).error().message,
            "f.yaml:2: \"count\" must be a number from 1 to 9, not \"99\"");
  EXPECT_THAT(reader->share("share", 0, 1, share).error().message,
              HasSubstr("f.yaml:3: \"share\" must be a share above 0% and below 100%"));
  EXPECT_EQ(reader->texts("texts").error().message,
            "f.yaml:4: \"texts\" must be a string or a list of strings");
  EXPECT_EQ(reader->text("text").error().message, "f.yaml:5: \"text\" must be one line of text");
  EXPECT_EQ(reader->optional("pairs", pairs).error().message,
            "f.yaml:6: a in \"pairs\" must be one line of text");
  EXPECT_EQ(YamlReader::of(*value, "f.yaml", "a map", {"flag"}).error().message,
            "f.yaml:2: unknown key \"count\"; allowed: flag");
}

TEST(Yaml, SharesArePercentOrNumbers) {
  const auto value = parse_yaml("a: 2.5%\nb: 0.1\nc: nan\n", "f.yaml");
  const auto reader = YamlReader::of(*value, "f.yaml", "a map", {"a", "b", "c"});
  double a = 0, b = 0, c = 0;
  EXPECT_TRUE(reader->share("a", 0, 1, a).ok());
  EXPECT_TRUE(reader->share("b", 0, 1, b).ok());
  EXPECT_FALSE(reader->share("c", 0, 1, c).ok());
  EXPECT_DOUBLE_EQ(a, 0.025);
  EXPECT_DOUBLE_EQ(b, 0.1);
}

TEST(YamlText, AScalarReadsBackAsItsText) {
  for (const std::string text : {"", "plain", "10%", "a: b", "- x", "'it\"s'", "two\nlines", "\\",
                                 "#x", "yes", "ubuntu:24.04", "{port}"}) {
    const auto read = parse_yaml("key: " + yaml_scalar(text), "f");
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(read->items.at(0).text, text);
  }
}

}  // namespace
}  // namespace assay
