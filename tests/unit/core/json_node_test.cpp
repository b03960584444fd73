// JSON of other programs: what is read, and what hostile text costs.
#include "core/json_node.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace assay {
namespace {

constexpr std::string_view white_space = " \t\r\n";

/// The first value of `text`, or why there is none.
Result<JsonNode> first_value(std::string_view text, JsonLimits limits = {.values = 1000}) {
  JsonValues values(text);
  return values.read(limits);
}

std::string problem_of(std::string_view text, JsonLimits limits = {.values = 1000}) {
  const auto node = first_value(text, limits);
  return node.ok() ? "" : node.error().message;
}

TEST(JsonNode, ReadsValueAfterValueWithTheirLines) {
  JsonValues values("{\"a\":[1,\n2]}{}\n\n\"x\"\n");
  EXPECT_EQ(values.read({.values = 10})->find("a")->items[1].text, "2");
  EXPECT_EQ(values.line(), 2u);
  EXPECT_TRUE(values.read({.values = 10})->is_object());
  EXPECT_EQ(values.next_letter(white_space).value(), '"');
  EXPECT_EQ(values.line(), 4u);
  EXPECT_EQ(values.read({.values = 10})->text, "x");
  EXPECT_FALSE(values.next_letter(white_space).value());
  EXPECT_EQ(values.count(), 6u);
}

TEST(JsonNode, NumbersKeepTheirText) {
  for (const char* text : {"1.50", "-0", "4E+07", "123456789012345678901234567890", "1e-400"}) {
    const auto node = first_value(text);
    ASSERT_TRUE(node.ok()) << text;
    EXPECT_EQ(node->kind, JsonNode::Kind::number);
    EXPECT_EQ(node->text, text);
  }
  EXPECT_EQ(first_value("[\" 2.5 \",true]")->items[0].number(), 2.5);
  EXPECT_FALSE(first_value("[\"2.5\",true]")->items[1].number());
}

TEST(JsonNode, InfinityAndNaNAreNumbersWithoutAValue) {
  const auto node = first_value("[NaN, Infinity,-Infinity]");
  ASSERT_TRUE(node.ok()) << node.error().message;
  EXPECT_EQ(node->items[0].text, "NaN");
  EXPECT_EQ(node->items[1].text, "Infinity");
  EXPECT_EQ(node->items[2].text, "-Infinity");
  for (const JsonNode& item : node->items) {
    EXPECT_EQ(item.kind, JsonNode::Kind::number);
    EXPECT_FALSE(item.number());
  }
  for (const char* other : {"Inf", "-Inf", "-NaN", "nan", "Infinite"}) {
    EXPECT_EQ(problem_of(other), "it is not JSON") << other;
  }
}

TEST(JsonNode, TheLastOfEqualKeysCounts) {
  const auto node = first_value("{\"a\":1,\"b\":null,\"a\":2}");
  EXPECT_EQ(node->number_at("a"), 2);
  EXPECT_EQ(node->at("b"), "");
  EXPECT_EQ(node->find("c"), nullptr);
}

TEST(JsonNode, WhatIsNotJsonIsRefused) {
  for (const std::string_view text :
       {std::string_view(""), std::string_view("{\"a\":1,}"), std::string_view("[1 2]"),
        std::string_view("\"a\nb\""), std::string_view("[01]"), std::string_view("1e999"),
        std::string_view("\"\xc3\""), std::string_view("\"\xed\xb0\x80\""),
        std::string_view("\"\\ud800\""), std::string_view("\"\\udc00\""),
        std::string_view("{\"\\udc00\":1}"), std::string_view("[\0]", 3),
        std::string_view("\"\xc3")}) {
    EXPECT_EQ(problem_of(text), "it is not JSON") << text;
  }
  EXPECT_EQ(first_value("\"\\ud83d\\ude00\xed\x9f\xbf\"")->text, "\U0001F600\xed\x9f\xbf");
}

TEST(JsonNode, HostileTextReachesALimit) {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(problem_of(nested(64)), "");
  EXPECT_EQ(problem_of(nested(65)), "its JSON is nested more than 64 levels deep");
  EXPECT_EQ(problem_of(std::string(1'000'000, '[')), "its JSON is nested more than 64 levels deep");
  EXPECT_EQ(problem_of("{\"a\":1,\"b\":[]}", {.values = 3}), "");
  EXPECT_EQ(problem_of("{\"a\":1,\"b\":[]}", {.values = 2}),
            "its JSON contains more than 0 million values");
  const std::string text = "\"" + std::string(std::size_t{2} << 20, 'x') + "\"";
  EXPECT_EQ(problem_of(text, {.values = 1, .bytes = std::size_t{1} << 20}),
            "an object is larger than 1 MiB");
  EXPECT_EQ(problem_of(text, {.values = 1, .bytes = text.size()}), "");
}

TEST(JsonNode, AFileIsReadPieceByPiece) {
  const TemporaryFolder folder;
  // Longer than any buffer, and every piece of it is different.
  std::string array = "[";
  for (int i = 0; i < 20'000; ++i) array += fmt::format("{}{}", i == 0 ? "" : ",\n", i);
  array += "]";
  const auto path = folder.write("a.json", array + "\n{\"b\":\"c\"}");
  auto values = JsonValues::open(path.string());
  ASSERT_TRUE(values.ok());
  JsonValues moved = std::move(*values);
  const auto node = moved.read({.values = 20'001});
  ASSERT_TRUE(node.ok()) << node.error().message;
  ASSERT_EQ(node->items.size(), 20'000u);
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    ASSERT_EQ(node->items[i].text, std::to_string(i));
  }
  EXPECT_EQ(moved.next_letter(white_space).value(), '{');
  EXPECT_EQ(moved.line(), 20'001u);
  EXPECT_EQ(moved.read({.values = 10})->at("b"), "c");
  const std::string absent = folder.path() / "absent";
  EXPECT_EQ(JsonValues::open(absent).error().message,
            "cannot read " + absent + ": No such file or directory");
  EXPECT_EQ(JsonValues::open("/").error().message, "cannot read /: Is a directory");
  EXPECT_EQ(JsonValues::open("/dev/zero").error().message,
            "cannot read /dev/zero: it is neither a file nor a pipe");
}

}  // namespace
}  // namespace assay
