// MIOpenDriver's command lines as convolutions.
#include "measure/suites/miopen_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "measure/benchmarks/conv/conv_cell.h"
#include "measure/suites/cells_of_target.h"
#include "support/temporary_folder.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> parsed(std::string_view line) {
  const auto problems = parse_driver_command(line);
  if (!problems) return {problems.error().message};
  std::vector<std::string> texts;
  for (const ConvolutionProblem& problem : *problems) texts.push_back(describe(problem));
  return texts;
}

TEST(MiopenDriver, ALineOfALog) {
  EXPECT_THAT(
      parsed("MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver convbfp16 -n 64 -c 256 "
             "-H 14 -W 28 -k 512 -y 3 -x 1 -p 1 -q 0 -u 2 -v 1 -l 1 -j 1 --in_layout NHWC "
             "--fil_layout NHWC --out_layout NHWC -m conv -g 2 -F 1 -t 1\r"),
      ElementsAre("forward bf16 nhwc n64 c256 k512 14x28 filter 3x1 stride 2x1 pad 1x0 dilation "
                  "1x1 groups 2"));
}

TEST(MiopenDriver, FlagsChooseDirections) {
  const auto directions = [](const std::string& flag) {
    std::vector<std::string> names;
    const auto problems = parse_driver_command("MIOpenDriver conv -n 1 " + flag);
    for (const ConvolutionProblem& problem : *problems) {
      names.emplace_back(name_of(problem.direction));
    }
    return names;
  };
  EXPECT_THAT(directions(""), ElementsAre("forward", "data", "weights"));
  EXPECT_THAT(directions("-F 0"), ElementsAre("forward", "data", "weights"));
  EXPECT_THAT(directions("-F 2"), ElementsAre("data"));
  EXPECT_THAT(directions("--forw 4"), ElementsAre("weights"));
  EXPECT_THAT(directions("-F 5"), ElementsAre("forward", "weights"));
  EXPECT_THAT(directions("-F 1 -m trans"), ElementsAre("data"));
  EXPECT_THAT(directions("-F 2 -m trans"), ElementsAre("forward"));
}

TEST(MiopenDriver, DefaultsAreTheDrivers) {
  EXPECT_THAT(parsed("convfp16 -F 1"),
              ElementsAre("forward f16 nchw n100 c3 k32 32x32 filter 3x3 stride 1x1 pad 0x0 "
                          "dilation 1x1 groups 1"));
}

TEST(MiopenDriver, ThreeDimensions) {
  EXPECT_THAT(
      parsed("/opt/rocm/bin/MIOpenDriver conv -n 2 -c 8 --in_d 10 -H 11 -W 12 -k 16 --fil_d 2 -y 3 "
             "-x 4 --pad_d 1 -p 2 -q 3 --conv_stride_d 1 -u 2 -v 3 --dilation_d 2 -l 1 -j 1 "
             "--spatial_dim 3 --in_layout NDHWC --fil_layout NDHWC --out_layout NDHWC -m conv "
             "-g 1 -F 4 -t 1 -S 85"),
      ElementsAre("weights f32 nhwc n2 c8 k16 10x11x12 filter 2x3x4 stride 1x2x3 pad 1x2x3 "
                  "dilation 2x1x1 groups 1"));
  EXPECT_EQ(parsed("conv -_ 3 -! 5 -@ 1 -$ 0 -# 1 -^ 1 -F 1").front(),
            "forward f32 nchw n100 c3 k32 5x32x32 filter 1x3x3 stride 1x1x1 pad 0x0x0 dilation "
            "1x1x1 groups 1");
}

/// What a transposed convolution computes from 8 channels of 5 x 5 to 4 of 10 x 10 is the gradient
/// of such an input.
TEST(MiopenDriver, TransposedOnesAreGradients) {
  EXPECT_THAT(
      parsed("MIOpenDriver conv -n 1 -c 8 -H 5 -W 5 -k 4 -y 2 -x 2 -u 2 -v 2 -m trans -F 1"),
      ElementsAre("data f32 nchw n1 c4 k8 10x10 filter 2x2 stride 2x2 pad 0x0 dilation "
                  "1x1 groups 1"));
  const auto padded = parse_driver_command(
      "MIOpenDriver conv -n 1 -c 8 -H 5 -W 5 -k 4 -y 3 -x 3 -u 2 -v 2 -p 1 -q 1 -Y 1 -m trans -F "
      "1");
  ASSERT_TRUE(padded) << padded.error().message;
  EXPECT_EQ(padded->front().in[0], 10);
  EXPECT_EQ(padded->front().in[1], 9);
  EXPECT_EQ(padded->front().out(0), 5);
  EXPECT_EQ(padded->front().out(1), 5);
}

TEST(MiopenDriver, OtherLinesHaveNoConvolution) {
  for (const char* line :
       {"", "MIOpen(HIP): Info [FindSolutions]", "./bin/MIOpenDriver bnormfp16 -n 64 -c 64",
        "conv is a benchmark", "MIOpenDriver", "NotMIOpenDriver conv -n 1", "convert -n 3"}) {
    EXPECT_THAT(parsed(line), IsEmpty()) << line;
  }
}

TEST(MiopenDriver, MistakesAreNamed) {
  EXPECT_THAT(parsed("MIOpenDriver convint8 -n 1"),
              ElementsAre("convint8 is not measured; allowed: conv, convfp16, convbfp16"));
  EXPECT_THAT(parsed("MIOpenDriver conv -n"), ElementsAre("option -n has no value"));
  EXPECT_THAT(parsed("MIOpenDriver conv -n 0"),
              ElementsAre("option -n is \"0\"; allowed: 1 to 1048576"));
  EXPECT_THAT(parsed("MIOpenDriver conv -H 4x"), ElementsAre(HasSubstr("option -H is \"4x\"")));
  EXPECT_THAT(parsed("MIOpenDriver conv n 4"),
              ElementsAre("\"n\" is not an option of MIOpenDriver"));
  EXPECT_THAT(parsed("MIOpenDriver conv --in_layout NHWC"),
              ElementsAre("layouts NHWC, NCHW and NCHW; allowed: NCHW or NHWC for all three"));
  EXPECT_THAT(parsed("MIOpenDriver conv -m full"), ElementsAre(HasSubstr("allowed: conv, trans")));
  EXPECT_THAT(parsed("MIOpenDriver conv -z same"), ElementsAre(HasSubstr("--pad_mode")));
  EXPECT_THAT(parsed("MIOpenDriver conv -_ 4"), ElementsAre(HasSubstr("allowed: 2, 3")));
  EXPECT_THAT(parsed("MIOpenDriver conv -g 2"), ElementsAre(HasSubstr("must divide")));
  EXPECT_THAT(parsed("MIOpenDriver conv -y 40"), ElementsAre(HasSubstr("does not fit")));
}

constexpr const char* log_text =
    "started\n"
    "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 2 -c 8 -k 8 -F 1 -t 1\n"
    "MIOpen(HIP): Command [LogCmdBNorm] ./bin/MIOpenDriver bnorm -n 2 -c 8\n"
    "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 2 -c 8 -k 8 -F 1 -t 1\n"
    "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 2 -c 8 -k 8 -F 6 -t 1\n";

TEST(MiopenDriver, ALogIsASuite) {
  const TemporaryFolder folder;
  folder.write("run.log", log_text);
  const auto plan = make_plan(std::string(folder.path()) + "/run.log",
                              {{"precision", "bf16"}, {"find", "first"}});
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->cells.size(), 3U);
  EXPECT_EQ(plan->cells[0].id(),
            "conv direction=forward precision=bf16 layout=nchw n=2 c=8 d=none h=32 w=32 k=8 "
            "filter=3 stride=1 pad=0 dilation=1 groups=1 library=auto find=first launch=stream");
  EXPECT_EQ(plan->cells[1].text("direction"), "data");
  EXPECT_EQ(plan->cells[2].text("direction"), "weights");
}

TEST(MiopenDriver, MistakesInALogHaveTheirLine) {
  const auto wrong = suite_of_driver_commands("x\nMIOpenDriver conv -n 0\n", "run.log");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::usage);
  EXPECT_EQ(wrong.error().message, "run.log:2: option -n is \"0\"; allowed: 1 to 1048576");
  EXPECT_EQ(suite_of_driver_commands("MIOpenDriver bnorm -n 1", "run.log").error().message,
            "run.log: no convolution among the commands of MIOpenDriver");
  EXPECT_TRUE(has_driver_commands(log_text));
  EXPECT_FALSE(has_driver_commands("name: x\ncells:\n  - command: [MIOpenDriver, conv]\n"));
}

/// Without its classifier and norms ResNet-50 has 23.45 million weights in 53 convolutions, and
/// 4.087 billion products for an image.
TEST(ConvSuites, ResNet50IsAllOfIt) {
  constexpr int times[] = {1, 1, 3, 4, 2, 1, 1, 4, 1, 3, 3, 1, 1, 6, 1, 5, 5, 1, 1, 3, 1, 2, 2};
  const auto plan = make_plan("resnet50", {{"direction", "forward"}, {"n", "1"}});
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->cells.size(), std::size(times));
  EXPECT_EQ(std::accumulate(std::begin(times), std::end(times), 0), 53);
  double weights = 0, products = 0;
  for (std::size_t i = 0; i < plan->cells.size(); ++i) {
    const auto cell = parse_conv_cell(decide_conv_cell(plan->cells[i], {}));
    ASSERT_TRUE(cell) << cell.error().message;
    weights += static_cast<double>(cell->problem.w_elements()) * times[i];
    products += cell->problem.flops() / 2 * times[i];
  }
  EXPECT_EQ(weights, 23454912);
  EXPECT_EQ(products, 4087136256);
}

TEST(ConvSuites, AllCellsAreConvolutions) {
  for (const char* suite : {"resnet50", "stable-diffusion", "unet3d"}) {
    const auto plan = make_plan(suite, {});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_GT(plan->cells.size(), 40U) << suite;
    for (const Cell& cell : plan->cells) {
      const auto parsed = parse_conv_cell(decide_conv_cell(cell, {}));
      EXPECT_TRUE(parsed) << cell.id() << ": " << parsed.error().message;
    }
  }
}

}  // namespace
}  // namespace assay
