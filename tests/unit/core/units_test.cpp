#include "core/units.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Units, SizesReadAndWriteExactly) {
  for (const auto& [text, bytes] : {std::pair<const char*, std::uint64_t>{"4KiB", 4096},
                                    {"64MiB", 67108864},
                                    {"1GiB", 1073741824},
                                    {"2TiB", 2199023255552},
                                    {"1000", 1000},
                                    {"1536KiB", 1572864}}) {
    ASSERT_TRUE(parse_size(text).ok()) << text;
    EXPECT_EQ(*parse_size(text), bytes);
    EXPECT_EQ(format_size(bytes), text);
  }
  EXPECT_EQ(*parse_size("2101346304"), 2101346304u);
  EXPECT_EQ(format_size(2101346304), "2004MiB");
  EXPECT_EQ(*parse_size("7B"), 7u);
}

TEST(Units, BadSizesSayWhatIsAllowed) {
  for (const char* text : {"", "4KB", "1.5GiB", "-1", "GiB", "4 KiB", "99999999999999999999",
                           "18014398509481984KiB", "4kib"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size.ok()) << text;
    EXPECT_EQ(size.error().message, "bad size \"" + std::string(text) +
                                        "\": give whole bytes or KiB, MiB, GiB, TiB, e.g. 64MiB");
    EXPECT_EQ(size.error().kind, ErrorKind::usage);
  }
}

TEST(Units, Durations) {
  EXPECT_DOUBLE_EQ(*parse_duration("60s"), 60);
  EXPECT_DOUBLE_EQ(*parse_duration("500ms"), 0.5);
  EXPECT_DOUBLE_EQ(*parse_duration("2min"), 120);
  EXPECT_DOUBLE_EQ(*parse_duration("1.5h"), 5400);
  EXPECT_DOUBLE_EQ(*parse_duration("24000h"), 86.4e6);
  for (const char* text : {"", "60", "0s", "-1s", "1e3s", "nans", "5 s", "3m", "24001h"}) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration.ok()) << text;
    EXPECT_EQ(duration.error().message,
              "bad duration \"" + std::string(text) +
                  "\": give a number above 0 with ms, s, min or h, e.g. 90s, and at most 24000h");
  }
}

TEST(Units, Integers) {
  EXPECT_EQ(*parse_integer("4096"), 4096u);
  for (const char* text : {"", "4k", "-4", "4.0"}) EXPECT_FALSE(parse_integer(text).ok()) << text;
}

TEST(Units, SharesNeverRoundToNothing) {
  EXPECT_EQ(format_share(0), "0%");
  EXPECT_EQ(format_share(0.0001), "<1%");
  EXPECT_EQ(format_share(0.013), "1%");
  EXPECT_EQ(format_share(1), "100%");
  EXPECT_EQ(format_percent(0.00123), "0.12%");
  EXPECT_EQ(format_percent(0.048), "4.8%");
  EXPECT_EQ(format_percent(0.994), "99%");
  EXPECT_EQ(format_percent(0.996), "100%");
  EXPECT_EQ(format_percent(20.123), "2012%");
}

TEST(Units, FourSignificantDigits) {
  EXPECT_EQ(format_significant(4213.4), "4213");
  EXPECT_EQ(format_significant(81.234), "81.23");
  EXPECT_EQ(format_significant(0.0042134), "0.004213");
  EXPECT_EQ(format_significant(999.96), "1000");
  EXPECT_EQ(format_significant(0), "0");
  EXPECT_EQ(format_significant(123456), "123456");
}

TEST(Units, RatesAndTimes) {
  EXPECT_EQ(format_rate(4.2134e12, "FLOP/s"), "4.213 TFLOP/s");
  EXPECT_EQ(format_rate(999.97e9, "B/s"), "1.000 TB/s");
  EXPECT_EQ(format_seconds(2.31e-6), "2.310 us");
  EXPECT_EQ(format_seconds(90), "90.00 s");
  EXPECT_EQ(format_seconds(-5000), "-5000 s");
  EXPECT_EQ(format_in(1073741824, "bytes"), "1 GiB");
  EXPECT_EQ(format_in(1e20, "bytes"), "100000 Pbytes");
  EXPECT_EQ(format_memory(150754820096), "140.4 GiB");
  EXPECT_EQ(format_memory(1073741824), "1 GiB");
  EXPECT_EQ(format_memory(512), "512 B");
  EXPECT_EQ(format_clock(7), "0:07");
  EXPECT_EQ(format_clock(0.2), "0:01");
  EXPECT_EQ(format_clock(750), "12:30");
  EXPECT_EQ(format_clock(3723), "1:02:03");
}

}  // namespace
}  // namespace assay
