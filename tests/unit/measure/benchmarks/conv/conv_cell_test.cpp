// The axes of the benchmark conv, and what its cells mean.
#include "measure/benchmarks/conv/conv_cell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;

DeviceFacts conv_cpu() {
  DeviceFacts facts;
  facts.backend = "cpu";
  facts.max_threads_per_block = 1;
  return facts;
}
DeviceFacts conv_gpu() {
  DeviceFacts facts;
  facts.backend = "cuda";
  facts.max_threads_per_block = 1024;
  return facts;
}

Cell cell_of(std::vector<AxisSetting> settings, const DeviceFacts& facts = conv_cpu()) {
  if (std::none_of(settings.begin(), settings.end(),
                   [](const AxisSetting& setting) { return setting.axis == "direction"; })) {
    settings.push_back({"direction", "forward"});
  }
  const auto cells = expand_cells("conv", conv_axes(), settings);
  EXPECT_TRUE(cells) << cells.error().message;
  EXPECT_EQ(cells->size(), 1U);
  return decide_conv_cell(cells->front(), facts);
}

ConvolutionProblem problem_of(const std::vector<AxisSetting>& settings) {
  const auto parsed = parse_conv_cell(cell_of(settings));
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed.ok() ? parsed->problem : ConvolutionProblem();
}

TEST(ConvCell, TheDeviceDecidesWhatIsAuto) {
  const Cell small = cell_of({}), large = cell_of({}, conv_gpu());
  EXPECT_EQ(small.text("precision"), "f32");
  EXPECT_EQ(small.text("n"), "1");
  EXPECT_EQ(large.text("precision"), "bf16");
  EXPECT_EQ(large.text("n"), "64");
  EXPECT_EQ(large.text("w"), "56");
  EXPECT_EQ(large.text("pad"), "1");
}

TEST(ConvCell, TextsAreTheShortest) {
  const Cell cell = cell_of({{"filter", "3x3"}, {"stride", "2x1"}, {"dilation", "1x1"}});
  EXPECT_EQ(cell.text("filter"), "3");
  EXPECT_EQ(cell.text("stride"), "2x1");
  EXPECT_EQ(cell.text("dilation"), "1");
  EXPECT_EQ(cell_of({{"filter", "3"}}), cell_of({{"filter", "3x3"}}));
}

TEST(ConvCell, PaddingKeepsTheExtents) {
  const ConvolutionProblem p =
      problem_of({{"filter", "7x3"}, {"dilation", "1x2"}, {"h", "20"}, {"w", "30"}});
  EXPECT_EQ(p.pad[0], 3);
  EXPECT_EQ(p.pad[1], 2);
  EXPECT_EQ(p.out(0), 20);
  EXPECT_EQ(p.out(1), 30);
  EXPECT_EQ(problem_of({{"filter", "3"}, {"dilation", "4"}}).pad[1], 4);
}

TEST(ConvCell, ThreeDimensions) {
  const ConvolutionProblem p = problem_of(
      {{"d", "8"}, {"h", "9"}, {"w", "10"}, {"filter", "1x2x3"}, {"pad", "0"}, {"layout", "nchw"}});
  EXPECT_EQ(p.dimensions, 3);
  EXPECT_EQ(p.x_shape(), (std::vector<std::int64_t>{1, 64, 8, 9, 10}));
  EXPECT_EQ(p.w_shape(), (std::vector<std::int64_t>{64, 64, 1, 2, 3}));
  EXPECT_EQ(p.y_shape(), (std::vector<std::int64_t>{1, 64, 8, 8, 8}));
}

TEST(ConvCell, SettingsOfAProblemAreThatProblem) {
  ConvolutionProblem p;
  p.direction = ConvolutionDirection::weights;
  p.type = DataType::f16;
  p.dimensions = 3;
  p.n = 3;
  p.c = 4;
  p.k = 6;
  p.groups = 2;
  p.in = {5, 6, 7};
  p.filter = {3, 1, 2};
  p.stride = {1, 2, 2};
  p.pad = {1, 1, 1};
  p.dilation = {2, 1, 1};
  EXPECT_EQ(describe(problem_of(conv_settings(p))), describe(p));
  p.dimensions = 2;
  p.channels_last = true;
  EXPECT_EQ(describe(problem_of(conv_settings(p))), describe(p));
}

TEST(ConvCell, ContradictionsAreSaid) {
  const auto reason = [](const std::vector<AxisSetting>& settings) {
    const auto parsed = parse_conv_cell(cell_of(settings));
    return parsed.ok() ? "" : parsed.error().message;
  };
  EXPECT_EQ(reason({{"filter", "3x3x3"}}),
            "filter=3x3x3 has 3 numbers, and the convolution 2 dimensions (d=none)");
  EXPECT_THAT(reason({{"d", "4"}, {"stride", "2x1"}}), HasSubstr("stride=2x1 has 2 numbers"));
  EXPECT_THAT(reason({{"groups", "3"}}), HasSubstr("must divide"));
  const auto undecided = expand_cells("conv", conv_axes(), {});
  EXPECT_THAT(parse_conv_cell(undecided->front()).error().message, HasSubstr("not decided yet"));
}

TEST(ConvCell, ValuesAreChecked) {
  for (const AxisSetting& setting : std::vector<AxisSetting>{{"filter", "0"},
                                                             {"filter", "3x"},
                                                             {"filter", "x3"},
                                                             {"filter", "1x1x1x1"},
                                                             {"stride", "0x1"},
                                                             {"pad", "-1"},
                                                             {"pad", "2000000"},
                                                             {"dilation", "a"},
                                                             {"stride", "auto"}}) {
    EXPECT_FALSE(expand_cells("conv", conv_axes(), {setting})) << setting.values;
  }
  EXPECT_TRUE(expand_cells("conv", conv_axes(), {{"pad", "0x1x2"}}));
}

TEST(ConvCell, EverySearchHasItsName) {
  EXPECT_EQ(parse_conv_cell(cell_of({}))->search, ConvolutionSearch::every);
  EXPECT_EQ(parse_conv_cell(cell_of({{"find", "first"}}))->search, ConvolutionSearch::first);
  EXPECT_EQ(parse_conv_cell(cell_of({{"find", "dynamic"}}))->search,
            ConvolutionSearch::find_dynamic);
  EXPECT_EQ(parse_conv_cell(cell_of({{"find", "find2"}}))->search, ConvolutionSearch::find_2);
}

}  // namespace
}  // namespace assay
