#include "measure/grid/axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Axis size_axis() {
  return {.name = "size",
          .description = "bytes",
          .kind = Axis::Kind::size,
          .defaults = {"1MiB"},
          .choices = {},
          .least = 4096,
          .most = std::uint64_t{8} << 30};
}
Axis op_axis() {
  return {.name = "op",
          .description = "",
          .kind = Axis::Kind::choice,
          .defaults = {"all"},
          .choices = {"copy", "triad", "dot"}};
}
Axis count_axis() {
  return {.name = "n",
          .description = "",
          .kind = Axis::Kind::integer,
          .defaults = {"1"},
          .choices = {},
          .least = 0,
          .most = 100};
}
Axis shape_axis() {
  return {.name = "shape",
          .description = "",
          .kind = Axis::Kind::shape,
          .defaults = {"64"},
          .choices = {}};
}

TEST(Axis, SweepsAndListsInOrderWithoutRepeats) {
  EXPECT_THAT(*expand(size_axis(), "1MiB..8MiB*2"), ElementsAre("1MiB", "2MiB", "4MiB", "8MiB"));
  EXPECT_THAT(*expand(size_axis(), "4096,4KiB,1MiB..6MiB*4"), ElementsAre("4KiB", "1MiB", "4MiB"));
  EXPECT_THAT(*expand(size_axis(), "1MiB..2MiB+512KiB"), ElementsAre("1MiB", "1536KiB", "2MiB"));
  EXPECT_THAT(*expand(size_axis(), "2101346304"), ElementsAre("2004MiB"));
  EXPECT_THAT(*expand(count_axis(), "0..4+2"), ElementsAre("0", "2", "4"));
  EXPECT_THAT(*expand(count_axis(), "3..3*2"), ElementsAre("3"));
}

TEST(Axis, SweepEndsAtTheLargestNumber) {
  Axis axis = count_axis();
  axis.most = UINT64_MAX;
  EXPECT_THAT(*expand(axis, "9223372036854775808..18446744073709551615*2"),
              ElementsAre("9223372036854775808"));
  EXPECT_THAT(*expand(axis, "18446744073709551614..18446744073709551615+1"),
              ElementsAre("18446744073709551614", "18446744073709551615"));
}

TEST(Axis, Choices) {
  EXPECT_THAT(*expand(op_axis(), "all"), ElementsAre("copy", "triad", "dot"));
  EXPECT_THAT(*expand(op_axis(), "dot,all"), ElementsAre("dot", "copy", "triad"));
  EXPECT_EQ(
      expand(op_axis(), "triat").error().message,
      "axis op: \"triat\" is not allowed (did you mean \"triad\"?); allowed: copy, triad, dot");
}

TEST(Axis, Shapes) {
  EXPECT_THAT(*expand(shape_axis(), "64x128x256,512,1024..2048*2"),
              ElementsAre("64x128x256", "512x512x512", "1024x1024x1024", "2048x2048x2048"));
  for (const char* text : {"64x128", "64x128x", "axbxc", "1x2x3x4", "0x1x1"}) {
    EXPECT_FALSE(expand(shape_axis(), text).ok()) << text;
  }
}

TEST(Axis, BadValuesNameTheAxisTheTextAndWhatIsAllowed) {
  const std::string allowed =
      "; allowed: sizes 4KiB to 8GiB (4KiB, 1GiB, plain bytes), sweeps like 1MiB..8GiB*2";
  for (const auto& [text, why] :
       {std::pair{"1KB", "\"1KB\" is not allowed"},
        {"1KiB", "\"1KiB\" is out of range"},
        {"16GiB", "\"16GiB\" is out of range"},
        {"", "\"\" is not allowed"},
        {"1MiB,", "\"\" is not allowed"},
        {"1MiB..8MiB", "\"1MiB..8MiB\" is a sweep without a step such as *2 or +1"},
        {"1MiB..8MiB*1", "\"1MiB..8MiB*1\" has a bad step (at least *2 or +1)"},
        {"1MiB..8MiB*x", "\"1MiB..8MiB*x\" has a bad step (at least *2 or +1)"},
        {"8MiB..1MiB*2", "\"8MiB..1MiB*2\" ends before it begins"}}) {
    const auto values = expand(size_axis(), text);
    ASSERT_FALSE(values.ok()) << text;
    EXPECT_EQ(values.error().message, std::string("axis size: ") + why + allowed);
    EXPECT_EQ(values.error().kind, ErrorKind::usage);
  }
  EXPECT_THAT(expand(count_axis(), "0..8*2").error().message, HasSubstr("multiplies zero"));
}

TEST(Axis, EndlessSweepsAreRefused) {
  Axis many = count_axis();
  many.most = 20000;
  EXPECT_EQ(expand(many, "1..10000+1")->size(), 10000u);
  EXPECT_FALSE(expand(many, "1..10001+1").ok());
  EXPECT_THAT(expand(size_axis(), "4KiB..8GiB+1").error().message,
              HasSubstr("has more than 10000 values"));
}

TEST(Axis, Settings) {
  const auto setting = parse_axis_setting("size=1MiB..8GiB*2");
  ASSERT_TRUE(setting.ok());
  EXPECT_EQ(setting->axis, "size");
  EXPECT_EQ(setting->values, "1MiB..8GiB*2");
  for (const char* text : {"size", "=1", "size=", ""}) {
    EXPECT_THAT(parse_axis_setting(text).error().message, HasSubstr("write axis=value"));
  }
}

TEST(Axis, CellsAreTheProductFirstAxisSlowest) {
  const auto cells =
      expand_cells("b", {op_axis(), size_axis()}, {{"op", "copy,dot"}, {"size", "1MiB,2MiB"}});
  ASSERT_TRUE(cells.ok());
  std::vector<std::string> ids;
  for (const Cell& cell : *cells) ids.push_back(cell.id());
  EXPECT_THAT(ids, ElementsAre("b op=copy size=1MiB", "b op=copy size=2MiB", "b op=dot size=1MiB",
                               "b op=dot size=2MiB"));
  EXPECT_EQ(expand_cells("b", {op_axis(), size_axis()}, {})->size(), 3u);
}

TEST(Axis, UnknownOrRepeatedAxes) {
  EXPECT_EQ(expand_cells("b", {op_axis(), size_axis()}, {{"sise", "1MiB"}}).error().message,
            "b has no axis \"sise\" (did you mean \"size\"?); its axes: op, size");
  EXPECT_EQ(expand_cells("b", {op_axis()}, {{"op", "copy"}, {"op", "dot"}}).error().message,
            "axis op is given twice; separate its values with commas");
}

TEST(Axis, TooManyCellsAreRefused) {
  Axis first = count_axis(), second = count_axis();
  first.most = second.most = 5000;
  second.name = "m";
  EXPECT_EQ(
      expand_cells("b", {first, second}, {{"n", "1..5000+1"}, {"m", "1..5000+1"}}).error().message,
      "b: more than 100000 cells; choose fewer values");
}

}  // namespace
}  // namespace assay
