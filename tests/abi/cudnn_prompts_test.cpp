// Attention of prompts, with heads of keys that queries share, by cuDNN on a mock that computes the
// graphs it is given on the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compute/attention/fused_attention.h"
#include "compute/kernels/element_types.h"
#include "core/random.h"
#include "core/shared_library.h"
#include "host_gpu.h"
#include "measure/benchmarks/benchmark.h"
#include "mock_cudnn/mock_cudnn.h"
#include "model/operations/prompt_attention.h"
#include "ranks/team/team.h"

namespace assay {
namespace {

using testing::HasSubstr;

constexpr const char* variable = "ASSAY_CUDNN_LIBRARY";
constexpr std::uint16_t untouched = 0x7FFF;  // NaN in both types
constexpr PromptHeads heads = {DataType::bf16, 6, 2, 16};
constexpr std::int64_t y_width = 6 * 16, qkv_width = 10 * 16;

class CudnnPrompts : public testing::TestWithParam<DataType> {
 protected:
  void SetUp() override {
    setenv(variable, MOCK_CUDNN, 1);
    const auto library = SharedLibrary::open({"mock", {MOCK_CUDNN "/libcudnn.so.9"}, {""}, ""});
    ASSERT_TRUE(library) << library.error().message;
    library->bind(reset_, {"mock_cudnn_reset"});
    library->bind(set_version_, {"mock_cudnn_set_version"});
    library->bind(refuse_plans_, {"mock_cudnn_refuse_plans"});
    library->bind(before_, {"mock_cudnn_before"});
    library->bind(live_, {"mock_cudnn_live"});
    library->bind(calls_, {"mock_cudnn_calls"});
    library->bind(graph_, {"mock_cudnn_graph"});
    reset_();
    stream_ = std::move(device_.create_stream(StreamPriority::normal)).value();
    before_([](void* context) { EXPECT_TRUE(static_cast<Stream*>(context)->synchronize()); },
            stream_.get());
    heads_.type = GetParam();
    Random random(3);
    for (std::int64_t i = 0; i < rows * qkv_width; ++i) qkv_.push_back(code_of(random.normal()));
  }
  void TearDown() override { unsetenv(variable); }

  float number_of(std::uint16_t code) const {
    return heads_.type == DataType::f16 ? F16{code}.decode() : Bf16{code}.decode();
  }
  std::uint16_t code_of(double value) const {
    const auto number = static_cast<float>(value);
    return heads_.type == DataType::f16 ? F16::encode(number).bits : Bf16::encode(number).bits;
  }

  /// Element i of a head of a row: heads of queries, then of keys, then of values.
  double element(std::int64_t row, std::int64_t head, std::int64_t i) const {
    return number_of(qkv_[std::size_t(row * qkv_width + head * 16 + i)]);
  }
  /// By the definition, in double precision; what is in no prompt is NaN.
  std::vector<double> expected(const std::vector<PromptRows>& prompts) const {
    std::vector<double> y(rows * y_width, std::nan(""));
    for (const PromptRows& of : prompts) {
      for (std::int64_t row = of.begin; row < of.end(); ++row) {
        const std::int64_t first = of.begin + (row - of.begin) / of.length * of.length;
        for (std::int64_t h = 0; h < 6; ++h) attend(y, first, row, h);
      }
    }
    return y;
  }
  void attend(std::vector<double>& y, std::int64_t first, std::int64_t row, std::int64_t h) const {
    const std::int64_t key = 6 + h / 3, value = 8 + h / 3;
    double sum = 0;
    std::vector<double> sums(16, 0.0);
    for (std::int64_t s = first; s <= row; ++s) {
      double score = 0;
      for (std::int64_t i = 0; i < 16; ++i) score += element(row, h, i) * element(s, key, i);
      const double weight = std::exp(score / 4);
      sum += weight;
      for (std::int64_t i = 0; i < 16; ++i) sums[std::size_t(i)] += weight * element(s, value, i);
    }
    for (std::int64_t i = 0; i < 16; ++i) {
      y[std::size_t(row * y_width + h * 16 + i)] = sums[std::size_t(i)] / sum;
    }
  }

  void expect_right(PromptAttention& attention, const std::vector<PromptRows>& prompts) {
    std::vector<std::uint16_t> y(rows * y_width, untouched);
    ASSERT_TRUE(stream_->synchronize());
    const Status begun = attention.begin(*stream_, prompts);
    ASSERT_TRUE(begun) << begun.error().message;
    for (int layer = 0; layer < 2; ++layer) {
      const Status done = attention.forward(*stream_, y.data(), qkv_.data());
      ASSERT_TRUE(done) << done.error().message;
    }
    const std::vector<double> right = expected(prompts);
    const double tolerance = heads_.type == DataType::f16 ? 2e-3 : 1.5e-2;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (std::isnan(right[i])) {
        ASSERT_EQ(y[i], untouched) << "row " << i / y_width;
      } else {
        ASSERT_NEAR(number_of(y[i]), right[i], tolerance) << "row " << i / y_width;
      }
    }
  }

  Result<std::unique_ptr<PromptAttention>> open(PromptWay way, bool any_lengths) {
    return open_prompt_attention(device_, heads_, {way, any_lengths}, {rows, 100, 150});
  }

  static constexpr std::int64_t rows = 300;
  HostGpu device_{"cuda", "sm_90"};
  std::unique_ptr<Stream> stream_;
  PromptHeads heads_ = heads;
  std::vector<std::uint16_t> qkv_;
  decltype(&mock_cudnn_reset) reset_ = nullptr;
  decltype(&mock_cudnn_set_version) set_version_ = nullptr;
  decltype(&mock_cudnn_refuse_plans) refuse_plans_ = nullptr;
  decltype(&mock_cudnn_before) before_ = nullptr;
  decltype(&mock_cudnn_live) live_ = nullptr;
  decltype(&mock_cudnn_calls) calls_ = nullptr;
  decltype(&mock_cudnn_graph) graph_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(, CudnnPrompts, testing::Values(DataType::bf16, DataType::f16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(CudnnPrompts, OfOneLengthHavePlansOfTheirOwn) {
  {
    auto attention = open(PromptWay::library, false);
    ASSERT_TRUE(attention) << attention.error().message;
    expect_right(**attention, {{3, 21, 2}, {60, 5, 1}});
    EXPECT_STREQ(graph_(), "matmul mul index index ge select max sub exp sum log add div matmul");
    expect_right(**attention, {{3, 21, 2}});
    EXPECT_EQ(calls_("cudnnCreate"), 2);  // the second pass made none
    EXPECT_EQ((*attention)->name(), "library (cuDNN 9.19.0)");
  }
  EXPECT_EQ(live_(), 0);
}

TEST_P(CudnnPrompts, OfAnyLengthsHavePlansForClasses) {
  {
    auto attention = open(PromptWay::library, true);
    ASSERT_TRUE(attention) << attention.error().message;
    EXPECT_STREQ(graph_(),
                 "matmul mul index index less less and select index index ge select max sub exp "
                 "sum log add div matmul");
    const int plans = calls_("cudnnCreate");
    expect_right(**attention, {{0, 7, 1}, {9, 5, 2}, {20, 130, 1}, {160, 2, 1}, {299, 1, 1}});
    expect_right(**attention, {{150, 150, 1}});
    expect_right(**attention, {});
    expect_right(**attention, {{2, 3, 80}});  // more than a call has
    EXPECT_EQ(calls_("cudnnCreate"), plans);
  }
  EXPECT_EQ(live_(), 0);
}

TEST_P(CudnnPrompts, WhatCannotBeHadIsTheOwnKernelsOrAnError) {
  refuse_plans_(9);
  EXPECT_THAT(open(PromptWay::library, true).error().message, HasSubstr("no kernel"));
  const auto none = open(PromptWay::best, true);  // nor are there own kernels for such heads
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ(*none, nullptr);
  reset_();
  set_version_(90501);
  EXPECT_THAT(open(PromptWay::library, true).error().message,
              HasSubstr("too old for sequences with lengths of their own: 9.6 is needed"));
  auto by_length = open(PromptWay::library, false);  // which needs no such sequences
  ASSERT_TRUE(by_length) << by_length.error().message;
  EXPECT_TRUE((*by_length)->begin(*stream_, std::vector<PromptRows>{{0, 21, 1}}));
  reset_();
  const HostGpu ampere("cuda", "sm_80");
  EXPECT_EQ(library_prompts_unsupported(ampere.facts(), heads_, 21, 1), std::nullopt);
  FusedAttentionProblem problem = {.batch = 1, .sequence = 128, .heads = 6, .head_width = 16};
  problem.kv_heads = 2;
  EXPECT_THAT(fused_attention_unsupported(problem, device_.facts()).value_or(""),
              HasSubstr("6 heads share 2 of keys, which is for inference alone here"));
  problem.forward_only = problem.own_lengths = true;
  EXPECT_THAT(fused_attention_unsupported(problem, ampere.facts()).value_or(""),
              HasSubstr("needs sm_90 or newer, not sm_80"));
}

/// On a GPU the library's, where it can.
TEST_P(CudnnPrompts, PrefillTakesThemByItself) {
  const Benchmark& prefill = *find_benchmark("prefill");
  const auto decided = [&](std::vector<AxisSetting> settings) {
    settings.insert(settings.end(), {{"model", "1L6H2K64D96C"}, {"prompt", "40"}});
    const auto cells = expand_cells("prefill", prefill.axes(), settings);
    EXPECT_TRUE(cells) << cells.error().message;
    return prefill.expand(cells->front(), device_, solo_team()).front();
  };
  EXPECT_EQ(decided({}).text("attention"), "library");
  EXPECT_EQ(decided({{"attention", "own"}}).text("attention"), "own");
  EXPECT_EQ(decided({{"precision", "f32"}}).text("attention"), "own");
  const auto reason = [&](const std::vector<AxisSetting>& settings) {
    return prefill.unsupported(decided(settings), device_).value_or("");
  };
  EXPECT_EQ(reason({}), "");
  EXPECT_EQ(reason({{"attention", "library"}, {"precision", "f32"}}),
            "attention=library: cuDNN's attention computes in bf16 and f16 here, not in f32");
  setenv(variable, "/nonexistent", 1);
  EXPECT_EQ(decided({}).text("attention"), "own");
}

}  // namespace
}  // namespace assay
