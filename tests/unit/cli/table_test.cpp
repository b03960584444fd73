#include "cli/table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/cell_names.h"

namespace assay::cli {
namespace {

const Style plain_cells(false);

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
  EXPECT_EQ(sample().render(0, plain_cells),
            "  op        value  interval   n\n"
            "  copy   1.5 GB/s  [1, 2]    30\n"
            "  triad         -             7\n");
}

TEST(Table, WhatDoesNotFitStandsBelowItsRowTheLeastImportantFirst) {
  EXPECT_EQ(sample().render(30, plain_cells),
            "  op        value  interval\n"
            "  copy   1.5 GB/s  [1, 2]\n"
            "      n 30\n"
            "  triad         -\n"
            "      n  7\n");
  EXPECT_EQ(sample().render(26, plain_cells),
            "  op        value\n"
            "  copy   1.5 GB/s\n"
            "      interval [1, 2]\n"
            "      n 30\n"
            "  triad         -\n"
            "      n  7\n");
}

TEST(Table, TextIsPartedIntoLinesBeforeColumnsMove) {
  Table table({{"axis"}, {"value", Column::Align::right}, {"about", Column::Align::left, 1}});
  table.add({"size", "1", "the bytes of one array, of which there are three"});
  table.add({"op", "22", "what is done"});
  EXPECT_EQ(table.render(50, plain_cells),
            "  axis  value  about\n"
            "  size      1  the bytes of one array, of which\n"
            "               there are three\n"
            "  op       22  what is done\n");
  EXPECT_EQ(table.render(40, plain_cells),
            "  axis  value\n"
            "  size      1\n"
            "      about the bytes of one array, of\n"
            "      which there are three\n"
            "  op       22\n"
            "      about what is done\n");
}

TEST(Table, WhatAllRowsHaveInAColumnBelowIsSaidOnce) {
  Table table({{"cell"}, {"metric", Column::Align::left, 1}, {"n", Column::Align::right, 2}});
  table.add({"a_long_name_of_a_cell", "bandwidth", "7"});
  table.add({"b", "bandwidth", "8"});
  EXPECT_EQ(table.render(30, plain_cells, 0),
            "all rows: metric bandwidth\n"
            "cell                   n\n"
            "a_long_name_of_a_cell  7\n"
            "b                      8\n");
}

/// On any screen that has room for a number.
TEST(Table, NothingIsLostAndNothingSticksOut) {
  Table table({{"cell"},
               {"A", Column::Align::right},
               {"B", Column::Align::right},
               {"remark", Column::Align::left, 1}});
  const std::vector<std::string> row = {"collective op=all_reduce size=4KiB", "12.34 GB/s",
                                        "13.00 GB/s", "a_word_longer_than_many_screens_are_wide"};
  table.add(row);
  for (std::size_t width = 26; width < 120; ++width) {
    std::string all;
    std::istringstream lines(table.render(width, plain_cells));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), width) << line;
      all += line;
    }
    std::erase(all, ' ');
    for (const char* number : {"12.34GB/s", "13.00GB/s"}) {
      EXPECT_NE(all.find(number), std::string::npos) << width;
    }
    EXPECT_EQ(all.find("..."), std::string::npos) << width;
  }
}

TEST(Table, ColumnsWithoutContentAreLeftOut) {
  Table table({{"a", Column::Align::left, 0}, {"b", Column::Align::left, 1}});
  table.add({"x", ""});
  EXPECT_EQ(table.render(0, plain_cells, 0), "a\nx\n");
}

TEST(Table, ColoursAndUtf8DoNotCountAsWidth) {
  EXPECT_EQ(display_width("\x1b[31mred\x1b[0m"), 3u);
  EXPECT_EQ(display_width("\xc2\xb5s"), 2u);
  Table table({{"a", Column::Align::right, 0}, {"b", Column::Align::left, 0}});
  table.add({Style(true).red("1"), "x"});
  table.add({"22", "y"});
  EXPECT_EQ(table.render(0, plain_cells, 0), " a  b\n \x1b[31m1\x1b[0m  x\n22  y\n");
}

TEST(ScreenText, LinesKeepWordsOrBreakThemAndKeepColours) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of("one two three", 7, LongWords::whole), (Lines{"one two", "three"}));
  EXPECT_EQ(lines_of("forward,backward x", 10, LongWords::whole), (Lines{"forward,backward", "x"}));
  EXPECT_EQ(lines_of("forward,backward", 10, LongWords::broken), (Lines{"forward,", "backward"}));
  EXPECT_EQ(lines_of("abcdef", 4, LongWords::broken), (Lines{"abcd", "ef"}));
  EXPECT_EQ(lines_of("", 4, LongWords::broken), (Lines{""}));
  EXPECT_EQ(lines_of("\x1b[31mone two\x1b[0m", 4, LongWords::whole),
            (Lines{"\x1b[31mone\x1b[0m", "\x1b[31mtwo\x1b[0m"}));
}

TEST(ScreenText, ReflowedJoinsParagraphsAndItemsAndLeavesExamples) {
  const std::string text =
      "# A long heading of a document\n\nOne paragraph that is as wide\nas it was written.\n\n"
      "- an item that has more than one\n  line\n- another\n\n  assay run example of a command\n";
  EXPECT_EQ(reflowed(text, 0), text);
  EXPECT_EQ(
      reflowed(text, 40),
      "# A long heading of a document\n\nOne paragraph that is as wide as it was\nwritten.\n\n"
      "- an item that has more than one line\n- another\n\n  assay run example of a command\n");
  EXPECT_EQ(reflowed("```\nas it is   \nwritten\n```\n", 30), "```\nas it is   \nwritten\n```\n");
}

TEST(CellNames, WhatAllCellsShareIsSaidOnce) {
  const CellNames names = cell_names({"memory op=copy dtype=f64 size=4KiB cache=hot",
                                      "memory op=triad dtype=f64 size=1MiB cache=hot"});
  EXPECT_EQ(names.common, std::vector<std::string>{"memory dtype=f64 cache=hot"});
  EXPECT_EQ(names.names, (std::vector<std::string>{"op=copy size=4KiB", "op=triad size=1MiB"}));
  EXPECT_EQ(heading_text(names, 0), "  all cells: memory dtype=f64 cache=hot\n");
  // A name with spaces, and a part of it in another one.
  const CellNames others = cell_names({"serving name=a b", "serving name=b"});
  EXPECT_EQ(others.names, (std::vector<std::string>{"name=a b", "name=b"}));
  EXPECT_EQ(cell_names({"train model=1B", "train model=1B"}).names.front(), "train");
  EXPECT_EQ(cell_names({"launch metric=a"}).names.front(), "launch metric=a");
  EXPECT_EQ(heading_text(cell_names({"launch metric=a", "copy memory=b"}), 0), "");
}

TEST(CellNames, ANameWithoutAHeadingHasWhatVariesOrWasGiven) {
  const std::vector<Cell> cells = {
      Cell("train", {{"model", "124M"}, {"precision", "f32"}, {"states", "master"}}),
      Cell("train", {{"model", "350M"}, {"precision", "f32"}, {"states", "master"}}),
      Cell("launch", {{"metric", "submit"}}), Cell("serving", {{"rate", "1"}}),
      Cell("serving", {{"rate", "1"}, {"cap", "4"}})};
  std::vector<const Cell*> all;
  for (const Cell& cell : cells) all.push_back(&cell);
  EXPECT_EQ(varying_names(all), (std::vector<std::string>{"train model=124M", "train model=350M",
                                                          "launch", "serving", "serving cap=4"}));
  EXPECT_EQ(
      varying_names(all, {"precision", "metric"}),
      (std::vector<std::string>{"train model=124M precision=f32", "train model=350M precision=f32",
                                "launch metric=submit", "serving", "serving cap=4"}));
}

TEST(CellNames, WhatCellsOfOneOfSeveralBenchmarksShareIsSaidOnceForEach) {
  const std::string decode =
      "decode model=llama3-8b batch=1 context=1024 precision=bf16 weights=random";
  const CellNames names =
      cell_names({"launch metric=a", "launch metric=b", "gemm shape=1 dtype=f32",
                  "gemm shape=2 dtype=f32", "copy memory=b", decode});
  EXPECT_EQ(names.names,
            (std::vector<std::string>{"launch metric=a", "launch metric=b", "gemm shape=1",
                                      "gemm shape=2", "copy memory=b", "decode"}));
  EXPECT_EQ(heading_text(names, 0),
            "  all of gemm: dtype=f32\n  all of decode: " + decode.substr(7) + "\n");
}

TEST(CellNames, ALongNameOfASingleCellStandsAboveTheTable) {
  const std::string cell = "train model=1B batch=4 sequence=32 precision=f32 states=master";
  const CellNames names = cell_names({cell});
  EXPECT_EQ(names.names, std::vector<std::string>{"train"});
  EXPECT_EQ(heading_text(names, 0), "  cell: " + cell + "\n");
  EXPECT_EQ(heading_text(cell_names({"launch metric=a"}), 0), "");
}

TEST(Table, Shorten) {
  EXPECT_EQ(shorten("memory", 6), "memory");
  EXPECT_EQ(shorten("memory op", 8), "memor...");
  EXPECT_EQ(shorten("memory", 2), "..");
  EXPECT_EQ(shorten("\x1b[31mmemory\x1b[0m", 5), "me...");
}

}  // namespace
}  // namespace assay::cli
