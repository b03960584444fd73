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

TEST(Text, DatesAreDaysOrMonthsOfTheCalendar) {
  for (const char* text : {"2026-08-03", "2026-08", "2028-02-29", "1999-12-31", "undated"}) {
    EXPECT_TRUE(is_date_of_source(text)) << text;
  }
  for (const char* text :
       {"", "2026", "2026-02-31", "2026-02-29", "2026-13-01", "2026-00", "2026-01-00", "2026-1-01",
        "2026/01/01", "2026-01-1x", "2026-01-001", "x026-01", "2026-01-01T", "-026-01-01"}) {
    EXPECT_FALSE(is_date_of_source(text)) << text;
  }
}

}  // namespace
}  // namespace assay
