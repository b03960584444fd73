// Attention to a paged cache: that it may be stored to and read in one launch, and the merging of
// splits, against a reference in double precision. Whole decoders are in decoder_test.cpp.
#include "model/operations/paged_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compute/kernels/element_types.h"
#include "compute/stored_elements.h"
#include "core/random.h"
#include "model/decoder/decoder_self_check.h"
#include "model/decoder/decoder_settings.h"
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
  std::optional<DataType> codes = {};  // of the cache
  std::int64_t pages = 0;              // of each sequence
  std::vector<float> qkv, keys, values, norm_of_queries, norm_of_keys, angles;
  std::vector<std::int32_t> tables;

  Scene(DataType of_numbers, PagedHeads of, std::vector<std::int32_t> next, bool with_norms,
        std::optional<DataType> codes_of_cache = {})
      : type(of_numbers),
        heads(of),
        positions(std::move(next)),
        norms(with_norms),
        codes(codes_of_cache) {
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
    if (codes) {
      for (std::size_t i = 0; i < keys.size() / std::size_t(heads.width); ++i) {
        // Vectors of very different sizes, some of them zeros.
        const float size = i % 7 == 3 ? 0 : std::exp2(-3 * float(i % 5));
        round_cached(&keys[i * std::size_t(heads.width)], 1);
        round_cached(&values[i * std::size_t(heads.width)], size);
      }
    }
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

  /// Scales a vector, and rounds it to what the cache may hold of it.
  void round_cached(float* vector, float size) const {
    std::vector<double> rounded(vector, vector + heads.width);
    for (double& x : rounded) x *= size;
    round_to_codes(*codes, rounded);
    std::copy(rounded.begin(), rounded.end(), vector);
  }
  /// What attention sees of a token's own key or value.
  std::vector<double> as_cached(std::vector<double> vector) const {
    if (!codes) return vector;
    if (type == DataType::bf16) {
      for (double& x : vector) x = Bf16::encode(static_cast<float>(x)).decode();
    }
    round_to_codes(*codes, vector);
    return vector;
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
    const float* const value = own_value(token, kv_head);
    const std::vector<double> q = rotated(token, head),
                              own = as_cached(rotated(token, heads.heads + kv_head)),
                              own_values = as_cached({value, value + width});
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
        sums[i] += weight * (is_own ? own_values[i] : double(values[cached + i]));
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
  /// A cache with these vectors, in numbers or codes, and what it holds as numbers again.
  struct Cached {
    Buffer vectors, factors;
  };
  Cached upload_cached(const Scene& scene, const std::vector<float>& vectors) {
    if (!scene.codes) return {upload(vectors, scene.type), Buffer()};
    const auto width = static_cast<std::size_t>(scene.heads.width);
    std::vector<std::uint8_t> codes(vectors.size());
    std::vector<float> factors;
    const double most = *scene.codes == DataType::e4m3_fnuz ? 240 : 448;
    for (std::size_t begin = 0; begin < vectors.size(); begin += width) {
      double largest = 0;
      for (std::size_t i = 0; i < width; ++i) {
        largest = std::max(largest, std::abs(double(vectors[begin + i])));
      }
      factors.push_back(static_cast<float>(largest / most));
      for (std::size_t i = 0; i < width && largest > 0; ++i) {
        store_element(*scene.codes, &codes[begin + i],
                      double(vectors[begin + i]) / double(factors.back()));
      }
    }
    return {KernelTest::upload(codes), KernelTest::upload(factors)};
  }
  std::vector<float> download_cached(const Scene& scene, const Cached& cached) {
    if (!scene.codes) return download(cached.vectors, scene.type);
    const auto codes =
        KernelTest::download<std::uint8_t>(cached.vectors.data(), cached.vectors.bytes());
    const auto factors =
        KernelTest::download<float>(cached.factors.data(), cached.factors.bytes() / sizeof(float));
    std::vector<float> vectors;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const double factor = factors[i / static_cast<std::size_t>(scene.heads.width)];
      vectors.push_back(static_cast<float>(factor * load_element(*scene.codes, &codes[i])));
    }
    return vectors;
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
  auto created = PagedAttention::create(*device_, {type, scene.codes}, scene.heads, epsilon, units);
  ASSERT_TRUE(created.ok()) << created.error().message;
  PagedAttention attention = std::move(*created);
  Cached keys = upload_cached(scene, scene.keys), values = upload_cached(scene, scene.values);
  const Buffer qkv = upload(scene.qkv, type), query_norm = upload(scene.norm_of_queries, type),
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
  const auto cache = [&] {
    return PagedCache{keys.vectors.data(), values.vectors.data(), keys.factors.as<float>(),
                      values.factors.as<float>()};
  };
  // What the cache holds, and what comes back of it: factors are rounded.
  const std::vector<float> keys_before = download_cached(scene, keys),
                           values_before = download_cached(scene, values);
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
    std::vector<float> cached_keys = download_cached(scene, keys),
                       cached_values = download_cached(scene, values);
    for (std::int64_t token = 0; token < count; ++token) {
      for (std::int64_t head = 0; head < scene.heads.kv_heads; ++head) {
        const std::size_t at =
            scene.place(token, scene.positions[static_cast<std::size_t>(token)], head);
        const float* const value = scene.own_value(token, head);
        const std::vector<double> own =
            scene.as_cached(scene.rotated(token, scene.heads.heads + head));
        const std::vector<double> own_value = scene.as_cached({value, value + own.size()});
        for (std::size_t i = 0; i < own.size(); ++i) {
          // The last digit of a number decides which of two codes is nearer, an eighth apart.
          const auto of_code = [&](double x) { return scene.codes ? std::abs(x) / 7 + 1e-6 : 0; };
          ASSERT_NEAR(cached_keys[at + i], own[i], tolerance_of(type).keys + of_code(own[i]))
              << way;
          ASSERT_NEAR(cached_values[at + i], own_value[i], of_code(own_value[i])) << way;
          cached_keys[at + i] = keys_before[at + i];
          cached_values[at + i] = values_before[at + i];
        }
      }
    }
    EXPECT_EQ(cached_keys, keys_before) << way;
    EXPECT_EQ(cached_values, values_before) << way;
  };
  for (int again = 0; again < 2; ++again) {  // what it leaves in its scratch memory is no harm
    ASSERT_TRUE(attention.store_and_forward(*stream_, y.data(), qkv.data(), cache(), rotation,
                                            scratch.data(), tokens));
    expect("one launch");
    keys = upload_cached(scene, scene.keys);
    values = upload_cached(scene, scene.values);
  }
  EXPECT_EQ(download(qkv, type), scene.qkv);
  ASSERT_TRUE(attention.store(*stream_, qkv.data(), cache(), rotation, tokens));
  ASSERT_TRUE(attention.forward(*stream_, y.data(), qkv.data(), cache(), scratch.data(), tokens));
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

/// Keys and values are codes with factors; the reference reads the numbers of these codes.
TEST_P(PagedAttentions, ReadAndWriteCodes) {
  const DataType codes = *cache_codes_named("fp8", device_->facts());
  for (const DataType type : {DataType::f32, DataType::bf16}) {
    store_and_attend({type, {4, 1, 128}, {700}, true, codes});  // cut, even on few processors
    store_and_attend({type, {8, 2, 64}, {0, 63, 64, 200}, false, codes});
    store_and_attend({type, {2, 2, 16}, {15, 16, 17}, true, codes});
    store_and_attend({type, {8, 1, 64}, {17, 90}, true, codes});
    store_and_attend({type, {8, 1, 128}, {17, 700}, true, codes});
    store_and_attend({type, {7, 1, 128}, {0, 33}, false, codes});
    store_and_attend({type, {3, 1, 32}, {1, 128}, false, codes});
  }
}

ASSAY_KERNEL_BUILDS(PagedAttentions);

}  // namespace
}  // namespace assay
