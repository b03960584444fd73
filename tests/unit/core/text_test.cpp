#include "core/text.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Text, NumbersAreParsedWhole) {
  EXPECT_EQ(parse_number("10887.4"), 10887.4);
  EXPECT_EQ(parse_number("4e-07"), 4e-7);
  EXPECT_EQ(parse_number("-1"), -1);
  EXPECT_EQ(parse_number("+2"), 2);
  for (const char* text :
       {"", "+", "+-1", "++1", " 1", "1 ", "1x", "0x10", "nan", "inf", "1e999"}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
}

TEST(Text, CountsFit64Bits) {
  EXPECT_EQ(parse_count("18446744073709551615"), 18446744073709551615u);
  for (const char* text : {"", "18446744073709551616", "+1", "-1", "1.0"}) {
    EXPECT_FALSE(parse_count(text)) << text;
  }
}

}  // namespace
}  // namespace assay
