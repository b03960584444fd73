#include "cli/terminal.h"

#include <gtest/gtest.h>

#include "core/json.h"
#include "core/shown_text.h"

namespace assay::cli {
namespace {

TEST(WithoutControls, TextStaysAsItIs) {
  const std::string text = "a\tb\nc \xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80 d\r\n";
  EXPECT_EQ(without_controls(text, false), text);
  EXPECT_EQ(without_controls("", true), "");
}

TEST(WithoutControls, EscapesAndTheirKindAreShownNotObeyed) {
  EXPECT_EQ(without_controls("\x1b[2J", false), "\\u001b[2J");
  EXPECT_EQ(without_controls("\x1b]0;title\x07", false), "\\u001b]0;title\\u0007");
  EXPECT_EQ(without_controls("a\rb", false), "a\\u000db");
  EXPECT_EQ(without_controls("a\x08\x7f", false), "a\\u0008\\u007f");
  EXPECT_EQ(without_controls(std::string_view("a\0b", 3), false), "a\\u0000b");
  EXPECT_EQ(without_controls("\xc2\x9b"
                             "2J",
                             false),
            "\\u009b2J")
      << "CSI of C1";
  EXPECT_EQ(without_controls("\xe2\x80\xae"
                             "abc\xe2\x81\xa6",
                             false),
            "\\u202eabc\\u2066");
  EXPECT_EQ(without_controls("\xd8\x9c\xe2\x80\xa8", false), "\\u061c\\u2028");
}

TEST(WithoutControls, OnlyOurStylesPassAndOnlyWhereThereIsColour) {
  const std::string red = Style(true).red("x");
  EXPECT_EQ(without_controls(red, true), red);
  EXPECT_EQ(without_controls(red, false), "\\u001b[31mx\\u001b[0m");
  EXPECT_EQ(without_controls("\x1b[8mhidden", true), "\\u001b[8mhidden");
}

TEST(WithoutControls, WhatIsNotUtf8IsReplaced) {
  for (const char* wrong : {"\x80", "\xff", "\xc0\xaf", "\xc3", "\xe2\x82", "\xed\xa0\x80"}) {
    const std::string shown = without_controls(wrong, false);
    EXPECT_EQ(shown.substr(0, 3), "\xef\xbf\xbd") << wrong;
  }
  EXPECT_EQ(without_controls("\xf4\x90\x80\x80"
                             "a",
                             false)
                .back(),
            'a');
}

TEST(WithoutControls, InJsonTheValueStaysTheSame) {
  const Json json = {{"text", "a\x1b[31m\xe2\x80\xae\xc2\x9b\x7f"}};
  EXPECT_EQ(Json::parse(without_controls(json.dump(), false)), json);
}

TEST(ShownLine, IsOneLineAndBounded) {
  EXPECT_EQ(shown_line("rank 2: lost\r\n\tand \x1b[2J", 100),
            "rank 2: lost\\u000d\\u000a\\u0009and \\u001b[2J");
  EXPECT_EQ(shown_line("123456", 6), "123456");
  EXPECT_EQ(shown_line("1234567", 6), "123...");
  EXPECT_EQ(shown_line("\n\n", 8), "\\u000...");
  EXPECT_EQ(shown_line("12\xc3\xbc\xc3\xbc\xc3\xbc", 6), "12...");  // no half a character
  EXPECT_EQ(shown_line(std::string(1 << 20, 'x'), 50).size(), 50u);
}

}  // namespace
}  // namespace assay::cli
