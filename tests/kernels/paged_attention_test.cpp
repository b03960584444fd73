// Attention to a paged cache: that it may be stored to and read in one launch, and the merging of
// splits, against a reference in double precision. Whole decoders are in decoder_test.cpp.
#include "model/operations/paged_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"
#include "kernel_test.h"
#include "model/weights.h"

namespace assay {
namespace {

constexpr double epsilon = 1e-5;

class PagedAttentions : public KernelTest {};

/// A cache with what tokens of some sequences have left in it, and the tokens that come next.
struct Scene {
  PagedHeads heads;
  std::vector<std::int32_t> positions;  // of the next token of each sequence
  bool norms = false;
  std::int64_t pages = 0;  // of each sequence
  std::vector<float> qkv, keys, values, norm_of_queries, norm_of_keys, angles;
  std::vector<std::int32_t> tables;

  Scene(PagedHeads of, std::vector<std::int32_t> next, bool with_norms)
      : heads(of), positions(std::move(next)), norms(with_norms) {
    Random random(7);
    const auto normal = [&](std::int64_t count) {
      std::vector<float> all;
      for (std::int64_t i = 0; i < count; ++i) all.push_back(static_cast<float>(random.normal()));
      return all;
    };
    const std::int32_t longest = *std::max_element(positions.begin(), positions.end());
    const std::int64_t count = std::ssize(positions);
    pages = longest / page_tokens + 1;
    qkv = normal(count * qkv_width());
    keys = normal(count * pages * page_tokens * heads.kv_heads * heads.width);
    values = normal(std::ssize(keys));
    norm_of_queries = normal(heads.width);
    norm_of_keys = normal(heads.width);
    for (std::int32_t position = 0; position <= longest; ++position) {
      for (const bool sine : {false, true}) {
        for (std::int64_t i = 0; i < heads.width / 2; ++i) {
          const double angle = position * std::pow(100.0, -2.0 * double(i) / double(heads.width));
          angles.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
        }
      }
    }
    // Blocks of sequences lie between each other.
    for (std::int64_t s = 0; s < count; ++s) {
      for (std::int64_t page = 0; page < pages; ++page) {
        tables.push_back(static_cast<std::int32_t>(page * count + s));
      }
    }
  }

  std::int64_t qkv_width() const { return (heads.heads + 2 * heads.kv_heads) * heads.width; }
  /// Of an element of a cached vector.
  std::size_t place(std::int64_t sequence, std::int64_t position, std::int64_t head) const {
    const std::int64_t block =
        tables[static_cast<std::size_t>(sequence * pages + position / page_tokens)];
    return static_cast<std::size_t>(
        ((block * heads.kv_heads + head) * page_tokens + position % page_tokens) * heads.width);
  }
  /// Head `head` of what the model has made of a token, normed and rotated.
  std::vector<double> rotated(std::int64_t token, std::int64_t head) const {
    const std::vector<float>& norm = head < heads.heads ? norm_of_queries : norm_of_keys;
    const auto width = static_cast<std::size_t>(heads.width);
    const auto begin =
        static_cast<std::size_t>(token * qkv_width()) + static_cast<std::size_t>(head) * width;
    std::vector<double> x(qkv.begin() + std::ptrdiff_t(begin),
                          qkv.begin() + std::ptrdiff_t(begin + width));
    double squares = 0;
    for (const double value : x) squares += value * value;
    const double inverse = norms ? 1 / std::sqrt(squares / double(width) + epsilon) : 1;
    for (std::size_t i = 0; i < width; ++i) x[i] *= norms ? inverse * double(norm[i]) : 1;
    std::vector<double> y(width);
    const std::size_t angle =
        static_cast<std::size_t>(positions[static_cast<std::size_t>(token)]) * width;
    for (std::size_t i = 0; i < width / 2; ++i) {
      const double cosine = angles[angle + i], sine = angles[angle + width / 2 + i];
      y[i] = x[i] * cosine - x[i + width / 2] * sine;
      y[i + width / 2] = x[i + width / 2] * cosine + x[i] * sine;
    }
    return y;
  }
  /// What comes out of head `head` of token `token`, and is in the cache afterwards.
  std::vector<double> expected(std::int64_t token, std::int64_t head) const {
    const std::int64_t kv_head = head / (heads.heads / heads.kv_heads);
    const auto width = static_cast<std::size_t>(heads.width);
    const std::vector<double> q = rotated(token, head), own = rotated(token, heads.heads + kv_head);
    const std::int32_t position = positions[static_cast<std::size_t>(token)];
    std::vector<double> sums(width, 0.0);
    double weights = 0;
    for (std::int64_t at = 0; at <= position; ++at) {
      const bool is_own = at == position;
      const std::size_t cached = place(token, at, kv_head);
      const std::size_t own_value = static_cast<std::size_t>(
          token * qkv_width() + (heads.heads + heads.kv_heads + kv_head) * heads.width);
      double score = 0;
      for (std::size_t i = 0; i < width; ++i) {
        score += q[i] * (is_own ? own[i] : double(keys[cached + i]));
      }
      const double weight = std::exp(score / std::sqrt(double(width)));
      weights += weight;
      for (std::size_t i = 0; i < width; ++i) {
        sums[i] += weight * (is_own ? qkv[own_value + i] : values[cached + i]);
      }
    }
    for (double& sum : sums) sum /= weights;
    return sums;
  }
};

TEST_P(PagedAttentions, StoreAndAttendInOneLaunchOrInTwo) {
  const Scene scenes[] = {
      {{4, 1, 128}, {700}, true},             // cut into splits, even on few processors
      {{8, 2, 64}, {0, 63, 64, 200}, false},  // the own key begins a block, or a split
      {{2, 2, 16}, {15, 16, 17}, true},       // no heads share keys
      {{3, 1, 32}, {1, 128}, false}};
  for (const Scene& scene : scenes) {
    const auto count = std::ssize(scene.positions);
    PagedAttention attention =
        PagedAttention::create(*device_, DataType::f32, scene.heads, epsilon).value();
    const Buffer keys = upload(scene.keys), values = upload(scene.values), qkv = upload(scene.qkv),
                 angles = upload(scene.angles), tables = upload(scene.tables),
                 query_norm = upload(scene.norm_of_queries), key_norm = upload(scene.norm_of_keys),
                 positions = upload(scene.positions);
    std::vector<std::int32_t> order;
    for (std::int32_t s = 0; s < count; ++s) order.push_back(s);
    const Buffer sequences = upload(order);
    const std::int64_t longest = *std::max_element(scene.positions.begin(), scene.positions.end());
    const std::size_t bytes = attention.scratch_bytes(count, longest);
    const Buffer scratch = upload(std::vector<std::uint8_t>(bytes, 0));
    const std::int64_t rows = count * scene.heads.heads, width = scene.heads.width;
    const Buffer y = allocate(static_cast<std::size_t>(rows * width) * sizeof(float));
    const PagedTokens tokens = {count,         longest,    positions.data(), sequences.data(),
                                tables.data(), scene.pages};
    const PagedCache cache = {keys.data(), values.data()};
    const PagedRotation rotation = {scene.norms ? query_norm.data() : nullptr,
                                    scene.norms ? key_norm.data() : nullptr, angles.data()};
    const auto expect = [&](const char* way) {
      const std::vector<float> found =
          download<float>(y.data(), static_cast<std::size_t>(rows * width));
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::vector<double> expected =
            scene.expected(row / scene.heads.heads, row % scene.heads.heads);
        for (std::int64_t i = 0; i < width; ++i) {
          ASSERT_NEAR(found[static_cast<std::size_t>(row * width + i)],
                      expected[static_cast<std::size_t>(i)], 2e-5)
              << way << ", width " << width << ", row " << row << ", column " << i;
        }
      }
      const std::vector<float> cached = download<float>(keys.data(), scene.keys.size());
      for (std::int64_t token = 0; token < count; ++token) {
        for (std::int64_t head = 0; head < scene.heads.kv_heads; ++head) {
          const std::size_t at =
              scene.place(token, scene.positions[static_cast<std::size_t>(token)], head);
          const std::vector<double> own = scene.rotated(token, scene.heads.heads + head);
          for (std::size_t i = 0; i < own.size(); ++i)
            ASSERT_NEAR(cached[at + i], own[i], 1e-5) << way;
        }
      }
    };
    for (int again = 0; again < 2; ++again) {  // what it leaves in its scratch memory is no harm
      ASSERT_TRUE(attention.store_and_forward(*stream_, y.data(), qkv.data(), cache, rotation,
                                              scratch.data(), tokens));
      expect("one launch");
      write(keys.data(), scene.keys);
      write(values.data(), scene.values);
    }
    EXPECT_EQ(download<float>(qkv.data(), scene.qkv.size()), scene.qkv);
    ASSERT_TRUE(attention.store(*stream_, qkv.data(), cache, rotation, tokens));
    ASSERT_TRUE(attention.forward(*stream_, y.data(), qkv.data(), cache, scratch.data(), tokens));
    expect("two launches");
  }
}

ASSAY_KERNEL_BUILDS(PagedAttentions);

}  // namespace
}  // namespace assay
