// The real oneDNN, executed through the conv benchmark on the CPU backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "abi/conv_machine.h"
#include "compute/vendor/convolution/convolution.h"
#include "compute/vendor/libraries/onednn_library.h"
#include "measure/benchmarks/conv/convolution_verify.h"
#include "support/temporary_folder.h"
#include "support/test_device.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class OneDnnConvolution : public testing::Test {
 protected:
  void SetUp() override {
    const auto library = onednn::Library::load();
    if (!library) GTEST_SKIP() << library.error().message;
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    device_ = open_test_device("cpu");
    stream_ = std::move(device_->create_stream()).value();
  }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  TemporaryFolder folder_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(OneDnnConvolution, EveryDirectionLayoutAndType) {
  for (const auto& shape : small_convolutions()) {
    for (const char* direction : {"forward", "data", "weights"}) {
      for (const char* layout : {"nchw", "nhwc"}) {
        for (const char* precision : {"f32", "bf16", "f16"}) {
          auto settings = shape;
          settings.insert(settings.end(), {{"n", "2"},
                                           {"direction", direction},
                                           {"layout", layout},
                                           {"precision", precision},
                                           {"find", "first"}});
          const auto outcome = run_conv(*device_, *stream_, settings);
          if (!outcome) {  // types that this CPU has no instructions for
            EXPECT_EQ(outcome.error().kind, ErrorKind::unsupported) << text_of(settings);
            EXPECT_THAT(outcome.error().message, HasSubstr("unimplemented")) << text_of(settings);
            EXPECT_STRNE(precision, "f32") << text_of(settings);
            continue;
          }
          EXPECT_TRUE(outcome->verification.passed)
              << text_of(settings) << outcome->verification.detail;
        }
      }
    }
  }
}

TEST_F(OneDnnConvolution, SeveralAreReplayedFromAGraph) {
  for (const char* direction : {"forward", "data", "weights"}) {
    auto settings = small_convolutions().front();
    settings.insert(settings.end(), {{"n", "2"}, {"direction", direction}, {"find", "first"}});
    const auto one = run_conv(*device_, *stream_, settings);
    ASSERT_TRUE(one) << one.error().message;
    settings.push_back({"launch", "graph"});
    const auto several = run_conv(*device_, *stream_, settings);
    ASSERT_TRUE(several) << several.error().message;
    EXPECT_TRUE(several->verification.passed) << several->verification.detail;
    EXPECT_EQ(several->work.repetitions, 20);
    EXPECT_EQ(several->launches_of_1_ms, 20);
    EXPECT_EQ(one->launches_of_1_ms, 20);  // or threads that begin late are all of a sample
    EXPECT_EQ(several->work.flops, 20 * one->work.flops);
    EXPECT_EQ(several->work.bytes, 20 * one->work.bytes);
  }
}

/// Each plan alone is right, whether it copies weights before or all tensors while it works.
TEST_F(OneDnnConvolution, EveryPlanIsRight) {
  std::size_t copying = 0;
  for (const ConvolutionDirection direction :
       {ConvolutionDirection::forward, ConvolutionDirection::data, ConvolutionDirection::weights}) {
    ConvolutionProblem p;
    p.direction = direction;
    p.n = 2;
    p.c = p.k = 32;
    p.in = {9, 9, 0};
    p.filter = {3, 3, 0};
    p.pad = {1, 1, 0};
    p.channels_last = true;
    auto library = open_convolution(*device_, "auto", p);
    ASSERT_TRUE(library) << library.error().message;
    EXPECT_THAT((*library)->library(), StartsWith("oneDNN "));
    ConvolutionTensors t = {std::vector<float>(static_cast<std::size_t>(p.x_elements()), 0.5F),
                            std::vector<float>(static_cast<std::size_t>(p.w_elements()), 0.25F),
                            std::vector<float>(static_cast<std::size_t>(p.y_elements()), 2)};
    const ConvolutionOperands operands = {t.x.data(), t.w.data(), t.y.data()};
    auto plans = (*library)->plans(*stream_, operands, ConvolutionSearch::every);
    ASSERT_TRUE(plans) << plans.error().message;
    for (const auto& plan : *plans) {
      copying += plan->algorithm().starts_with("plain") ? 0 : 1;
      EXPECT_THAT(plan->algorithm(), Not(HasSubstr(" ref")));  // which is never the fastest
      auto& result = direction == ConvolutionDirection::data      ? t.x
                     : direction == ConvolutionDirection::weights ? t.w
                                                                  : t.y;
      std::fill(result.begin(), result.end(), NAN);
      ASSERT_TRUE(plan->prepare(*stream_, operands));
      ASSERT_TRUE(plan->enqueue(*stream_, operands, nullptr));
      ASSERT_TRUE(stream_->synchronize());
      const Verification right = verify_convolution(p, t, false, 1 << 24, 1);
      EXPECT_TRUE(right.passed) << plan->algorithm() << ": " << right.detail;
      std::fill(result.begin(), result.end(), 1.0F);
    }
  }
  EXPECT_GT(copying, 2U);
}

/// oneDNN's issue 6035. A process has one set of instructions, chosen when oneDNN first computes:
/// in a process that runs this test alone, that of CPUs on which the kernel is wrong.
TEST_F(OneDnnConvolution, AKernelThatWritesPastItsWorkspaceIsNotTaken) {
  setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
  for (const char* find : {"first", "best"}) {
    const auto notes = expect_conv(*device_, *stream_,
                                   {{"n", "2"},
                                    {"c", "5"},
                                    {"k", "7"},
                                    {"h", "8"},
                                    {"filter", "1"},
                                    {"stride", "2"},
                                    {"pad", "0"},
                                    {"direction", "weights"},
                                    {"layout", "nhwc"},
                                    {"find", find}});
    EXPECT_THAT(notes.at("algorithm"), Not(HasSubstr("packed jit_1x1")));
    EXPECT_THAT(notes.at("algorithm"), Not(HasSubstr("plain jit_1x1")));
  }
  unsetenv("ONEDNN_MAX_CPU_ISA");
}

TEST_F(OneDnnConvolution, TheFastestIsRemembered) {
  const std::vector<AxisSetting> settings = {
      {"direction", "forward"}, {"c", "32"}, {"k", "32"}, {"h", "14"}};
  const auto first = expect_conv(*device_, *stream_, settings);
  EXPECT_EQ(first.at("choice"), "measured");
  EXPECT_NE(first.at("algorithms_measured"), "0");
  const auto second = expect_conv(*device_, *stream_, settings);
  EXPECT_EQ(second.at("choice"), "measured in an earlier run");
  EXPECT_EQ(second.at("algorithms_measured"), "0");
  EXPECT_EQ(second.at("algorithm"), first.at("algorithm"));
}

TEST_F(OneDnnConvolution, WhatItCannotDoIsSaid) {
  const auto reason = [&](const std::vector<AxisSetting>& settings) {
    const auto outcome = run_conv(*device_, *stream_, settings);
    return outcome ? std::string() : outcome.error().message;
  };
  EXPECT_EQ(reason({{"find", "normal"}}), "find=normal is MIOpen's; allowed here: best, first");
  EXPECT_EQ(reason({{"precision", "tf32"}}), "oneDNN convolves f32, f16 and bf16 here, not tf32");
}

}  // namespace
}  // namespace assay
