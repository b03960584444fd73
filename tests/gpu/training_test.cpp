// Training on a real accelerator: gradients against the reference in every way of computing, and
// what must not change a bit.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <set>

#include "core/random.h"
#include "gpt_example.h"
#include "measure/benchmarks/attention_reference.h"
#include "model/gpt_gate.h"
#include "model/operations/attention.h"
#include "model/weights.h"
#include "test_device.h"

namespace assay {
namespace {

class TrainingOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    device_ = open_test_device("");
    if (device_->facts().backend == "cpu") GTEST_SKIP() << "no accelerator on this machine";
    stream_ = std::move(device_->create_stream()).value();
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(TrainingOnGpu, GradientsAreTheReferencesInEveryWay) {
  std::set<std::string> missing;
  for (const DataType precision : {DataType::f32, DataType::tf32, DataType::bf16, DataType::f16}) {
    for (const std::int64_t head_width : {32, 64, 128}) {
      for (const AttentionWay way : {AttentionWay::plain, AttentionWay::own, AttentionWay::library,
                                     AttentionWay::library_unordered}) {
        GptSettings settings = small_training(precision);
        settings.plan.shape.width = settings.plan.shape.heads * head_width;
        settings.plan.attention = way;
        if (way == AttentionWay::own &&
            own_attention_unsupported(device_->facts(), precision, head_width)) {
          continue;
        }
        if (is_by_library(way)) {
          FusedAttentionProblem problem = fused_attention_of(settings.plan);
          problem.sequence = 256;  // or what the gate takes, if the library takes more
          if (const auto reason = fused_attention_unsupported(problem, device_->facts())) {
            missing.insert(*reason);
            continue;
          }
        }
        const auto gate = check_training(*device_, *stream_, settings);
        ASSERT_TRUE(gate) << gate.error().message;
        EXPECT_TRUE(gate->passed) << name_of(precision) << " " << name_of(way) << " " << head_width
                                  << ": " << gate->worst << " " << gate->gradient_error << ", loss "
                                  << gate->loss_error;
      }
    }
  }
  for (const std::string& reason : missing) std::cout << "left out: " << reason << "\n";
}

/// What own attention computes by groups of waves, on Hopper by wgmma, is the definition's: were it
/// not, the other kernels would be taken without a word.
TEST_F(TrainingOnGpu, AttentionByGroupsOfWavesIsTheDefinitions) {
  for (const auto& [sequence, width] : {std::pair(1, 64), {64, 128}, {300, 64}, {300, 128}}) {
    for (const DataType type : {DataType::bf16, DataType::f16}) {
      const AttentionShape shape = {1, sequence, 1, width};
      const auto n = std::size_t(sequence), w = std::size_t(width);
      const auto allocate = [&](std::size_t bytes) {
        return device_->allocate(bytes, MemoryKind::device).value();
      };
      const auto random = [&](const Buffer& to, std::uint64_t seed) {
        Random numbers(seed);
        std::vector<float> wanted(to.bytes() / 2);
        for (float& x : wanted) x = static_cast<float>(numbers.normal());
        EXPECT_TRUE(write_weights(*stream_, to.data(), type, wanted));
        return read_weights(*stream_, to.data(), type, wanted.size()).value();
      };
      const Buffer qkv = allocate(n * 3 * w * 2), y = allocate(n * w * 2), dy = allocate(n * w * 2);
      const Buffer d_qkv = allocate(n * 3 * w * 2), log_sum = allocate(n * sizeof(float));
      const Buffer scratch = allocate(own_attention_scratch_bytes(1, sequence, width));
      const std::vector<float> packed = random(qkv, 1);
      AttentionHead head = {n, w, {}, {}, {}, random(dy, 2)};
      for (std::size_t i = 0; i < packed.size(); ++i) {
        auto& part = i / w % 3 == 0 ? head.queries : i / w % 3 == 1 ? head.keys : head.values;
        part.push_back(packed[i]);
      }
      for (const Buffer* result : {&y, &d_qkv}) {
        ASSERT_TRUE(stream_->fill(result->data(), 0xFF, result->bytes()));
      }
      auto attention = own_attention(*device_, type, width, OwnKind::groups);
      ASSERT_TRUE(attention) << attention.error().message;
      const AttentionMemory memory = {nullptr, log_sum.data(), scratch.data()};
      ASSERT_TRUE((*attention)->forward(*stream_, y.data(), qkv.data(), memory, shape));
      ASSERT_TRUE(
          (*attention)
              ->backward(*stream_, d_qkv.data(), dy.data(), y.data(), qkv.data(), memory, shape));
      const std::vector<float> found = read_weights(*stream_, y.data(), type, n * w).value();
      const std::vector<float> gradients =
          read_weights(*stream_, d_qkv.data(), type, n * 3 * w).value();
      const AttentionReference reference(head);
      double difference[4] = {}, size[4] = {};
      const auto compare = [&](int kind, const float* row, const std::vector<double>& expected) {
        for (std::size_t e = 0; e < w; ++e) {
          difference[kind] += std::pow(row[e] - expected[e], 2);
          size[kind] += std::pow(expected[e], 2);
        }
      };
      for (std::size_t token = 0; token < n; ++token) {
        const float* const gradient = &gradients[token * 3 * w];
        compare(0, &found[token * w], reference.result(token));
        compare(1, gradient, reference.query_gradient(token));
        const auto of_key = reference.key_value_gradients(token);
        compare(2, gradient + w, of_key.key);
        compare(3, gradient + 2 * w, of_key.value);
      }
      for (const int kind : {0, 1, 2, 3}) {
        const bool none = sequence == 1 && (kind == 1 || kind == 2);  // one key has probability 1
        if (none) continue;
        EXPECT_LT(std::sqrt(difference[kind] / size[kind]), type == DataType::bf16 ? 1e-2 : 2e-3)
            << (*attention)->detail() << ": " << sequence << " tokens, heads " << width << " wide, "
            << name_of(type) << ", " << kind << " of result, queries, keys, values";
      }
    }
  }
}

/// Where attention is always the same.
class SameBitsOnGpu : public TrainingOnGpu, public testing::WithParamInterface<AttentionWay> {};
INSTANTIATE_TEST_SUITE_P(, SameBitsOnGpu, testing::Values(AttentionWay::own, AttentionWay::library),
                         [](const auto& way) { return std::string(name_of(way.param)); });

TEST_P(SameBitsOnGpu, ReplayingRecomputingAndRepeatingChangeNoBit) {
  GptSettings settings = small_training(DataType::bf16);
  settings.plan.shape.width = 128;
  settings.plan.attention = GetParam();
  // The last tile is not full, if the library takes that.
  settings.plan.sequence = settings.plan.shape.positions = 150;
  if (is_by_library(GetParam())) {
    if (fused_attention_unsupported(fused_attention_of(settings.plan), device_->facts())) {
      settings.plan.sequence = settings.plan.shape.positions = 256;
    }
    const auto fused = open_fused_attention(*device_, fused_attention_of(settings.plan));
    if (!fused) GTEST_SKIP() << fused.error().message;
    if (!(*fused)->deterministic()) GTEST_SKIP() << "not deterministic on this device";
  }
  const TokenBatches data = random_batches(settings.plan, 4, 5);
  const auto train = [&](const GptSettings& wanted, bool graph) {
    auto made = GptTraining::create(*device_, *stream_, wanted, data);
    EXPECT_TRUE(made) << made.error().message;
    GptTraining& training = **made;
    EXPECT_TRUE(training.step(*stream_));
    std::unique_ptr<Graph> replayed;
    if (graph) {
      EXPECT_TRUE(stream_->begin_capture());
      EXPECT_TRUE(training.step(*stream_));
      replayed = std::move(stream_->end_capture()).value();
    }
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(graph ? stream_->launch(*replayed) : training.step(*stream_));
    }
    return training.weights(*stream_).value();
  };
  const std::vector<float> once = train(settings, false);
  EXPECT_EQ(train(settings, false), once);
  EXPECT_EQ(train(settings, true), once);
  settings.plan.recompute = Recompute::layer;
  EXPECT_EQ(train(settings, true), once);
  // The GELU by itself has the bits of the kernel, not those of a product's epilogue.
  settings.fuse_gelu = false;
  settings.plan.recompute = Recompute::none;
  const std::vector<float> separate = train(settings, true);
  settings.plan.recompute = Recompute::gelu;
  EXPECT_EQ(train(settings, true), separate);
}

}  // namespace
}  // namespace assay
