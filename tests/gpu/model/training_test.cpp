// Training on a real accelerator: gradients against the reference in every way of computing, and
// what must not change a bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <set>

#include "core/random.h"
#include "measure/benchmarks/attention/attention_reference.h"
#include "model/operations/attention.h"
#include "model/operations/flash_backward.h"
#include "model/operations/flash_forward.h"
#include "model/tensors/weights.h"
#include "model/training/training_self_check.h"
#include "support/test_device.h"
#include "support/training_example.h"

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
        TransformerSettings settings = small_training(precision);
        settings.plan.shape.width = settings.plan.shape.heads * head_width;
        settings.plan.shape.head_width = head_width;
        settings.plan.attention = way;
        if (way == AttentionWay::own &&
            flash_attention_unsupported(device_->facts(), precision, head_width)) {
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

/// One head of one sequence on the device, and what the definition makes of it.
class OwnAttentionOnGpu : public TrainingOnGpu {
 protected:
  struct Head {
    std::size_t tokens, width;
    DataType type;
    Buffer qkv, y, dy, d_qkv, log_sum, scratch;
    std::vector<double> result, gradients;  ///< [tokens, width] and [tokens, 3, width]

    AttentionShape shape() const { return {1, std::int64_t(tokens), 1, std::int64_t(width)}; }
    std::string name() const {
      return fmt::format("{} tokens, heads {} wide, {}", tokens, width, name_of(type));
    }
  };

  Head make_head(std::size_t n, std::size_t w, DataType type) {
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
    Head made = {n,
                 w,
                 type,
                 allocate(n * 3 * w * 2),
                 allocate(n * w * 2),
                 allocate(n * w * 2),
                 allocate(n * 3 * w * 2),
                 allocate(n * sizeof(float)),
                 allocate(flash_attention_scratch_bytes(1, std::int64_t(n), std::int64_t(w))),
                 {},
                 {}};
    const std::vector<float> packed = random(made.qkv, 1);
    AttentionHead head = {n, w, {}, {}, {}, random(made.dy, 2)};
    for (std::size_t i = 0; i < packed.size(); ++i) {
      auto& part = i / w % 3 == 0 ? head.queries : i / w % 3 == 1 ? head.keys : head.values;
      part.push_back(packed[i]);
    }
    const AttentionReference reference(head);
    const auto append = [](std::vector<double>& to, const std::vector<double>& row) {
      to.insert(to.end(), row.begin(), row.end());
    };
    for (std::size_t token = 0; token < n; ++token) {
      append(made.result, reference.result(token));
      append(made.gradients, reference.query_gradient(token));
      const auto of_key = reference.key_value_gradients(token);
      append(made.gradients, of_key.key);
      append(made.gradients, of_key.value);
    }
    return made;
  }

  /// Every `parts`-th row of width elements, from row `part` on.
  void expect_near(const Head& head, const Buffer& found, const std::vector<double>& expected,
                   std::size_t parts, std::size_t part, const std::string& what) {
    const std::vector<float> all =
        read_weights(*stream_, found.data(), head.type, expected.size()).value();
    double difference = 0, size = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i / head.width % parts != part) continue;
      difference += std::pow(all[i] - expected[i], 2);
      size += std::pow(expected[i], 2);
    }
    EXPECT_LT(std::sqrt(difference / size), head.type == DataType::bf16 ? 1e-2 : 2e-3)
        << what << ": " << head.name() << ", part " << part;
  }

  void expect_forward(const Head& head, const FlashForward& forward) {
    ASSERT_TRUE(stream_->fill(head.y.data(), 0xFF, head.y.bytes()));
    ASSERT_TRUE(forward.enqueue(*stream_, head.y.data(), head.qkv.data(), head.log_sum.data(),
                                head.shape()));
    expect_near(head, head.y, head.result, 1, 0, "forward: " + forward.describe());
  }

  void expect_backward(const Head& head, const FlashBackward& backward) {
    ASSERT_TRUE(stream_->fill(head.d_qkv.data(), 0xFF, head.d_qkv.bytes()));
    ASSERT_TRUE(backward.enqueue(
        *stream_, head.d_qkv.data(), head.dy.data(), head.y.data(), head.qkv.data(),
        {nullptr, head.log_sum.data(), head.scratch.data()}, head.shape()));
    for (std::size_t part = 0; part < 3; ++part) {
      if (head.tokens == 1 && part < 2) continue;  // one key has probability 1, and no gradient
      expect_near(head, head.d_qkv, head.gradients, 3, part, "backward: " + backward.describe());
    }
  }
};

/// Of waves and of groups of them, on Hopper by wgmma, in each way to share the work: were one not
/// right, another kernel would be taken, and only a note would say so. The last tiles are full,
/// hold one token, or a part.
TEST_F(OwnAttentionOnGpu, EveryKernelComputesTheDefinition) {
  for (const DataType type : {DataType::bf16, DataType::f16}) {
    for (const std::size_t width : {64, 128}) {
      const auto w = static_cast<std::int64_t>(width);
      std::vector<FlashForward> forwards;
      for (const OwnForwardGeometry& geometry : OwnForwardGeometry::all_of(device_->facts(), w)) {
        auto built = FlashForward::build(*device_, type, w, geometry);
        ASSERT_TRUE(built) << built.error().message;
        forwards.push_back(std::move(*built));
      }
      std::vector<FlashBackward> backwards;
      for (const bool groups : {false, true}) {
        if (groups && !FlashBackward::has_groups(device_->facts(), w)) continue;
        auto built = FlashBackward::build(*device_, type, w, groups);
        ASSERT_TRUE(built) << built.error().message;
        backwards.push_back(std::move(*built));
      }
      for (const std::size_t tokens : {1, 64, 129, 300}) {
        const Head head = make_head(tokens, width, type);
        for (const FlashForward& forward : forwards) expect_forward(head, forward);
        for (const FlashBackward& backward : backwards) expect_backward(head, backward);
      }
    }
  }
}

/// Where attention is always the same.
class SameBitsOnGpu : public TrainingOnGpu, public testing::WithParamInterface<AttentionWay> {};
INSTANTIATE_TEST_SUITE_P(, SameBitsOnGpu, testing::Values(AttentionWay::own, AttentionWay::library),
                         [](const auto& way) { return std::string(name_of(way.param)); });

TEST_P(SameBitsOnGpu, ReplayingRecomputingAndRepeatingChangeNoBit) {
  TransformerSettings settings = small_training(DataType::bf16);
  settings.plan.shape.width = 128;
  settings.plan.shape.head_width = 64;
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
  const auto train = [&](const TransformerSettings& wanted, bool graph) {
    auto made = TransformerTraining::create(*device_, *stream_, wanted, data);
    EXPECT_TRUE(made) << made.error().message;
    TransformerTraining& training = **made;
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
  settings.plan.recompute = Recompute::activation;
  EXPECT_EQ(train(settings, true), separate);
}

}  // namespace
}  // namespace assay
