// Attention to a paged cache: that it may be stored to and read in one launch, and the merging of
// splits, against a reference in double precision. Whole decoders are in decoder_test.cpp.
#include "model/operations/paged_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compute/kernels/element_types.h"
#include "core/random.h"
#include "model/tensors/weights.h"
#include "support/kernel_test.h"

namespace assay {
namespace {

constexpr double epsilon = 1e-5;

/// A cache with what tokens of some sequences have left in it, and the tokens that come next.
struct Scene {
  DataType type;  // that all numbers but angles have
  PagedHeads heads;
  std::vector<std::int32_t> positions;  // of the next token of each sequence
  bool norms = false;
  std::int64_t pages = 0;  // of each sequence
  std::vector<float> qkv, keys, values, norm_of_queries, norm_of_keys, angles;
  std::vector<std::int32_t> tables;

  Scene(DataType of_numbers, PagedHeads of, std::vector<std::int32_t> next, bool with_norms)
      : type(of_numbers), heads(of), positions(std::move(next)), norms(with_norms) {
    Random random(7);
    const auto normal = [&](std::int64_t count) {
      std::vector<float> all;
      for (std::int64_t i = 0; i < count; ++i) {
        const auto x = static_cast<float>(random.normal());
        all.push_back(type == DataType::bf16 ? Bf16::encode(x).decode() : x);
      }
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
  /// The place of a cached vector's first element in the cache.
  std::size_t place(std::int64_t sequence, std::int64_t position, std::int64_t head) const {
    const std::int64_t block =
        tables[static_cast<std::size_t>(sequence * pages + position / page_tokens)];
    return static_cast<std::size_t>(
        ((block * heads.kv_heads + head) * page_tokens + position % page_tokens) * heads.width);
  }
  /// Head `head` of a token's query, key or value, normed and rotated.
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
  /// A token's own value.
  const float* own_value(std::int64_t token, std::int64_t kv_head) const {
    return qkv.data() + token * qkv_width() +
           (heads.heads + heads.kv_heads + kv_head) * heads.width;
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
      double score = 0;
      for (std::size_t i = 0; i < width; ++i) {
        score += q[i] * (is_own ? own[i] : double(keys[cached + i]));
      }
      const double weight = std::exp(score / std::sqrt(double(width)));
      weights += weight;
      for (std::size_t i = 0; i < width; ++i) {
        sums[i] += weight * (is_own ? own_value(token, kv_head)[i] : values[cached + i]);
      }
    }
    for (double& sum : sums) sum /= weights;
    return sums;
  }
};

/// bf16 keeps eight bits of keys, queries and results.
struct Tolerance {
  double results, keys;
};
Tolerance tolerance_of(DataType type) {
  return type == DataType::f32 ? Tolerance{2e-5, 1e-5} : Tolerance{4e-2, 4e-2};
}

class PagedAttentions : public KernelTest {
 protected:
  Buffer upload(const std::vector<float>& numbers, DataType type) {
    Buffer buffer = allocate(numbers.size() * size_of(type));
    EXPECT_TRUE(write_weights(*stream_, buffer.data(), type, numbers));
    return buffer;
  }
  std::vector<float> download(const Buffer& buffer, DataType type) {
    return read_weights(*stream_, buffer.data(), type, buffer.bytes() / size_of(type)).value();
  }
  void store_and_attend(const Scene& scene);
  void store_and_attend(const Scene& scene, PagedUnits units);
};

void PagedAttentions::store_and_attend(const Scene& scene) {
  store_and_attend(scene, PagedUnits::vector);
  if (PagedAttention::has_matrix_kernels(device_->facts(), scene.type, scene.heads)) {
    store_and_attend(scene, PagedUnits::matrix);
  }
}

void PagedAttentions::store_and_attend(const Scene& scene, PagedUnits units) {
  const DataType type = scene.type;
  const auto count = std::ssize(scene.positions);
  PagedAttention attention =
      PagedAttention::create(*device_, type, scene.heads, epsilon, units).value();
  const Buffer keys = upload(scene.keys, type), values = upload(scene.values, type),
               qkv = upload(scene.qkv, type), query_norm = upload(scene.norm_of_queries, type),
               key_norm = upload(scene.norm_of_keys, type),
               angles = upload(scene.angles, DataType::f32),
               tables = KernelTest::upload(scene.tables),
               positions = KernelTest::upload(scene.positions);
  std::vector<std::int32_t> order;
  for (std::int32_t s = 0; s < count; ++s) order.push_back(s);
  const Buffer sequences = KernelTest::upload(order);
  const std::int64_t longest = *std::max_element(scene.positions.begin(), scene.positions.end());
  const Buffer scratch =
      KernelTest::upload(std::vector<std::uint8_t>(attention.scratch_bytes(count, longest), 0));
  const std::int64_t rows = count * scene.heads.heads, width = scene.heads.width;
  const Buffer y = allocate(static_cast<std::size_t>(rows * width) * size_of(type));
  const PagedTokens tokens = {count,         longest,    positions.data(), sequences.data(),
                              tables.data(), scene.pages};
  const PagedCache cache = {keys.data(), values.data()};
  const PagedRotation rotation = {scene.norms ? query_norm.data() : nullptr,
                                  scene.norms ? key_norm.data() : nullptr, angles.data()};
  const auto expect = [&](const char* way) {
    const std::vector<float> found = download(y, type);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::vector<double> expected =
          scene.expected(row / scene.heads.heads, row % scene.heads.heads);
      for (std::int64_t i = 0; i < width; ++i) {
        ASSERT_NEAR(found[static_cast<std::size_t>(row * width + i)],
                    expected[static_cast<std::size_t>(i)], tolerance_of(type).results)
            << way << ", width " << width << ", row " << row << ", column " << i;
      }
    }
    // Each token's own key and value, and nothing else, has come into the cache.
    std::vector<float> cached_keys = download(keys, type), cached_values = download(values, type);
    for (std::int64_t token = 0; token < count; ++token) {
      for (std::int64_t head = 0; head < scene.heads.kv_heads; ++head) {
        const std::size_t at =
            scene.place(token, scene.positions[static_cast<std::size_t>(token)], head);
        const std::vector<double> own = scene.rotated(token, scene.heads.heads + head);
        for (std::size_t i = 0; i < own.size(); ++i) {
          ASSERT_NEAR(cached_keys[at + i], own[i], tolerance_of(type).keys) << way;
          ASSERT_EQ(cached_values[at + i], scene.own_value(token, head)[i]) << way;
          cached_keys[at + i] = scene.keys[at + i];
          cached_values[at + i] = scene.values[at + i];
        }
      }
    }
    EXPECT_EQ(cached_keys, scene.keys) << way;
    EXPECT_EQ(cached_values, scene.values) << way;
  };
  for (int again = 0; again < 2; ++again) {  // what it leaves in its scratch memory is no harm
    ASSERT_TRUE(attention.store_and_forward(*stream_, y.data(), qkv.data(), cache, rotation,
                                            scratch.data(), tokens));
    expect("one launch");
    ASSERT_TRUE(write_weights(*stream_, keys.data(), type, scene.keys));
    ASSERT_TRUE(write_weights(*stream_, values.data(), type, scene.values));
  }
  EXPECT_EQ(download(qkv, type), scene.qkv);
  ASSERT_TRUE(attention.store(*stream_, qkv.data(), cache, rotation, tokens));
  ASSERT_TRUE(attention.forward(*stream_, y.data(), qkv.data(), cache, scratch.data(), tokens));
  expect("two launches");
}

TEST_P(PagedAttentions, StoreAndAttendInOneLaunchOrInTwo) {
  for (const DataType type : {DataType::f32, DataType::bf16}) {
    store_and_attend({type, {4, 1, 128}, {700}, true});             // cut, even on few processors
    store_and_attend({type, {8, 2, 64}, {0, 63, 64, 200}, false});  // the own key begins a part
    store_and_attend({type, {2, 2, 16}, {15, 16, 17}, true});       // no heads share keys
    store_and_attend({type, {1, 1, 64}, {40}, true});
    store_and_attend({type, {8, 1, 64}, {17, 90}, true});  // as many as may share them
    store_and_attend({type, {8, 1, 128}, {17, 700}, true});
    store_and_attend({type, {7, 1, 128}, {0, 33}, false});
    store_and_attend({type, {3, 1, 32}, {1, 128}, false});
  }
}

ASSAY_KERNEL_BUILDS(PagedAttentions);

}  // namespace
}  // namespace assay
