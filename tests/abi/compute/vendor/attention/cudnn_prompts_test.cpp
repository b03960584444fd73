// Attention of prompts, with heads of keys that queries share, by cuDNN on a mock that computes the
// graphs it is given on the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "abi/host_gpu.h"
#include "abi/mock_cudnn/mock_cudnn.h"
#include "advise/selftest/contracts/prompt_reference.h"
#include "compute/vendor/attention/fused_attention.h"
#include "core/shared_library.h"
#include "measure/grid/benchmark.h"
#include "model/operations/prompt_attention.h"
#include "ranks/team/team.h"
#include "support/holds.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

constexpr const char* variable = "ASSAY_CUDNN_LIBRARY";
constexpr PromptHeads heads = {DataType::bf16, 6, 2, 16};

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
    reference_.emplace(heads_, rows);
  }
  void TearDown() override { unsetenv(variable); }

  void expect_right(PromptAttention& attention, const std::vector<PromptRows>& prompts) {
    std::vector<std::uint16_t> y = reference_->unwritten_y();
    ASSERT_TRUE(stream_->synchronize());
    const Status begun = attention.begin(*stream_, prompts);
    ASSERT_TRUE(begun) << begun.error().message;
    for (int layer = 0; layer < 2; ++layer) {
      const Status done = attention.forward(*stream_, y.data(), reference_->qkv().data());
      ASSERT_TRUE(done) << done.error().message;
    }
    EXPECT_TRUE(holds(reference_->check(y, prompts)));
  }

  Result<std::unique_ptr<PromptAttention>> open(PromptWay way, bool any_lengths) {
    return open_prompt_attention(device_, heads_, {way, any_lengths}, {rows, 100, 150});
  }

  static constexpr std::int64_t rows = 300;
  HostGpu device_{"cuda", "sm_90"};
  std::unique_ptr<Stream> stream_;
  PromptHeads heads_ = heads;
  std::optional<selftest::PromptAttentionReference> reference_;
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
    EXPECT_EQ(calls_("cudnnCreate"), 1);          // one handle for all plans
    EXPECT_EQ(calls_("cudnnBackendExecute"), 6);  // each once: 128 x 1, 4, 16, 64, 256 x 1, 4
    expect_right(**attention, {{0, 7, 1}, {9, 5, 2}, {20, 130, 1}, {160, 2, 1}, {299, 1, 1}});
    expect_right(**attention, {{150, 150, 1}});
    expect_right(**attention, {});
    expect_right(**attention, {{2, 3, 65}});  // more than a call has
    // For each layer: two classes, one, none, and two calls of one class.
    EXPECT_EQ(calls_("cudnnBackendExecute"), 6 + 2 * (2 + 1 + 0 + 2));
  }
  EXPECT_EQ(live_(), 0);
}

TEST_P(CudnnPrompts, WhatCannotBeHadIsTheOwnKernelsOrAnError) {
  refuse_plans_(9);
  EXPECT_THAT(open(PromptWay::library, true).error().message, HasSubstr("no kernel"));
  for (const bool any_lengths : {false, true}) {
    const auto none = open(PromptWay::best, any_lengths);  // nor own kernels for such heads
    ASSERT_TRUE(none) << none.error().message;
    EXPECT_TRUE((*none)->begin(*stream_, std::vector<PromptRows>{{0, 21, 1}}));
    EXPECT_FALSE((*none)->computes({0, 21, 1}));
    EXPECT_THAT((*none)->name(),
                MatchesRegex(R"(cache \(no plan for attention forward: .*no kernel.*\))"));
  }
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
  problem.forward_only = problem.own_lengths = true;
  EXPECT_THAT(fused_attention_unsupported(problem, ampere.facts()).value_or(""),
              HasSubstr("needs sm_90 or newer, not sm_80"));
}

TEST_P(CudnnPrompts, PrefillLeavesTheChoiceToTheLibrarysPlans) {
  const Benchmark& prefill = *find_benchmark("prefill");
  const auto decided = [&](std::vector<AxisSetting> settings) {
    settings.insert(settings.end(), {{"model", "1L6H2K64D96C"}, {"prompt", "40"}});
    const auto cells = expand_cells("prefill", prefill.axes(), settings);
    EXPECT_TRUE(cells) << cells.error().message;
    return prefill.expand(cells->front(), device_, solo_team()).front();
  };
  EXPECT_EQ(decided({}).text("attention"), "auto");
  EXPECT_EQ(decided({{"attention", "own"}}).text("attention"), "own");
  const auto reason = [&](const std::vector<AxisSetting>& settings) {
    return prefill.unsupported(decided(settings), device_).value_or("");
  };
  EXPECT_EQ(reason({}), "");
  EXPECT_EQ(reason({{"precision", "f32"}}), "");
  EXPECT_EQ(reason({{"attention", "library"}, {"precision", "f32"}}),
            "attention=library: cuDNN's attention computes in bf16 and f16 here, not in f32");
  setenv(variable, "/nonexistent", 1);
  EXPECT_EQ(reason({}), "");
}

}  // namespace
}  // namespace assay
