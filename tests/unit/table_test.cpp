#include "cli/table.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

const Style plain(false);

Table sample() {
  Table table({{"op", Column::Align::left, 0},
               {"value", Column::Align::right, 0},
               {"interval", Column::Align::left, 2},
               {"n", Column::Align::right, 1}});
  table.add({"copy", "1.5 GB/s", "[1, 2]", "30"});
  table.add({"triad", "-", "", "7"});
  return table;
}

TEST(Table, AlignsColumns) {
  EXPECT_EQ(sample().render(0, plain),
            "  op        value  interval   n\n"
            "  copy   1.5 GB/s  [1, 2]    30\n"
            "  triad         -             7\n");
}

TEST(Table, NarrowScreensLoseTheLeastImportantColumnsFirst) {
  EXPECT_EQ(sample().render(30, plain),
            "  op        value  interval\n"
            "  copy   1.5 GB/s  [1, 2]\n"
            "  triad         -\n");
  EXPECT_EQ(sample().render(20, plain),
            "  op        value\n"
            "  copy   1.5 GB/s\n"
            "  triad         -\n");
  EXPECT_EQ(sample().render(16, plain),
            "  op       value\n"
            "  copy  1.5 GB/s\n"
            "  t...         -\n");
}

TEST(Table, ColumnsWithoutContentAreLeftOut) {
  Table table({{"a", Column::Align::left, 0}, {"b", Column::Align::left, 1}});
  table.add({"x", ""});
  EXPECT_EQ(table.render(0, plain, 0), "a\nx\n");
}

TEST(Table, ColoursAndUtf8DoNotCountAsWidth) {
  EXPECT_EQ(display_width("\x1b[31mred\x1b[0m"), 3u);
  EXPECT_EQ(display_width("\xc2\xb5s"), 2u);
  Table table({{"a", Column::Align::right, 0}, {"b", Column::Align::left, 0}});
  table.add({Style(true).red("1"), "x"});
  table.add({"22", "y"});
  EXPECT_EQ(table.render(0, plain, 0), " a  b\n \x1b[31m1\x1b[0m  x\n22  y\n");
}

TEST(Table, Shorten) {
  EXPECT_EQ(shorten("memory", 6), "memory");
  EXPECT_EQ(shorten("memory op", 8), "memor...");
  EXPECT_EQ(shorten("memory", 2), "..");
  EXPECT_EQ(shorten("\x1b[31mmemory\x1b[0m", 5), "me...");
}

}  // namespace
}  // namespace assay::cli
