// The operations of a transformer one by one, over awkward shapes in f32, bf16 and f16, against
// references in double that are given the same, rounded inputs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/random.h"
#include "gpt_example.h"
#include "kernel_test.h"
#include "model/operations/activations.h"
#include "model/operations/attention.h"
#include "model/operations/column_sums.h"
#include "model/operations/cross_entropy.h"
#include "model/operations/layer_norm.h"
#include "model/operations/loss_history.h"
#include "model/operations/squared_error.h"
#include "model/operations/weight_update.h"
#include "model/token_batches.h"
#include "model/weights.h"

namespace assay {
namespace {

/// A tensor on the device and what it holds.
struct Values {
  Buffer buffer;
  std::vector<float> host;
};

class ModelKernels : public KernelTest {
 protected:
  static constexpr DataType types[] = {DataType::f32, DataType::bf16, DataType::f16};

  Values values(DataType type, std::vector<float> wanted) {
    Values made = {allocate(wanted.size() * size_of(type)), {}};
    EXPECT_TRUE(write_weights(*stream_, made.buffer.data(), type, wanted));
    made.host = read_weights(*stream_, made.buffer.data(), type, wanted.size()).value();
    return made;
  }
  Values normal(DataType type, std::size_t count, std::uint64_t seed, double mean = 0) {
    Random random(seed);
    std::vector<float> wanted(count);
    for (float& x : wanted) x = static_cast<float>(mean + random.normal());
    return values(type, wanted);
  }
  Values unknown(DataType type, std::size_t count) {
    return values(type, std::vector<float>(count, std::numeric_limits<float>::quiet_NaN()));
  }
  std::vector<float> read(const Values& values, DataType type) {
    return read_weights(*stream_, values.buffer.data(), type, values.host.size()).value();
  }
  /// Each element within two steps of bf16 or f16, of which there are 2^7 or 2^10 from a power of
  /// two to the next, and below 2^-14 no smaller ones in f16.
  /// Where a function falls to less than 1% of what it scales, f32 itself has lost digits, and the
  /// steps are those of that 1%.
  void expect_within_2_ulp(DataType type, const std::vector<float>& found,
                           const std::vector<double>& expected, const std::vector<float>& scaled) {
    const bool finer = type == DataType::f16;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double size = std::max(std::abs(expected[i]), 0.01 * std::abs(scaled[i]));
      const double step = std::exp2(std::floor(std::log2(std::max(size, finer ? 0x1p-14 : 1e-30))) -
                                    (finer ? 10 : 7));
      ASSERT_LE(std::abs(found[i] - expected[i]), 2 * step)
          << i << ": " << found[i] << ", expected " << expected[i];
    }
  }
  void expect_near(const std::vector<float>& found, const std::vector<double>& expected,
                   DataType type, const std::string& what) {
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_LT(relative_distance(found, expected, 0, found.size()), type == DataType::f32    ? 1e-5
                                                                   : type == DataType::bf16 ? 1e-2
                                                                                            : 2e-3)
        << what << " " << name_of(type);
  }
};

TEST_P(ModelKernels, NormWithTheAdditionBeforeIt) {
  for (const DataType type : types) {
    ColumnSums column_sums = ColumnSums::create(*device_, type).value();
    LayerNorm norm = LayerNorm::create(*device_, type, column_sums).value();
    for (const Rows shape : {Rows{1, 8}, Rows{3, 72}, Rows{67, 520}}) {
      const auto n = static_cast<std::size_t>(shape.rows),
                 c = static_cast<std::size_t>(shape.width);
      const Values x = normal(type, n * c, 1, 3), branch = normal(type, n * c, 2);
      const Values weight = normal(type, c, 3, 1), bias = normal(type, c, 4);
      const Values sum = unknown(type, n * c), normed = unknown(type, n * c);
      const Values statistics = unknown(DataType::f32, 2 * n);
      ASSERT_TRUE(norm.forward(*stream_, normed.buffer.data(), statistics.buffer.data(),
                               sum.buffer.data(), x.buffer.data(), branch.buffer.data(),
                               weight.buffer.data(), bias.buffer.data(), shape));
      const std::vector<float> sums = read(sum, type);  // as rounded, which the norm reads
      std::vector<double> expected_sum(n * c), expected(n * c);
      std::vector<double> means(n), inverses(n);
      for (std::size_t row = 0; row < n; ++row) {
        for (std::size_t i = 0; i < c; ++i) {
          expected_sum[row * c + i] = double(x.host[row * c + i]) + branch.host[row * c + i];
          means[row] += double(sums[row * c + i]) / double(c);
        }
        double variance = 0;
        for (std::size_t i = 0; i < c; ++i) {
          variance += std::pow(sums[row * c + i] - means[row], 2) / double(c);
        }
        inverses[row] = 1 / std::sqrt(variance + 1e-5);
        for (std::size_t i = 0; i < c; ++i) {
          expected[row * c + i] =
              (sums[row * c + i] - means[row]) * inverses[row] * weight.host[i] + bias.host[i];
        }
      }
      expect_near(sums, expected_sum, type, "sum");
      expect_near(read(normed, type), expected, type, "norm");

      // Gradients, added to what is there and not.
      const Values dy = normal(type, n * c, 5), scratch = unknown(DataType::f32, 64 * 3 * c);
      for (const bool add : {false, true}) {
        const Values dx = add ? normal(type, n * c, 6) : unknown(type, n * c);
        const Values dw = add ? normal(type, c, 7) : unknown(type, c);
        const Values db = add ? normal(type, c, 8) : unknown(type, c);
        const Values before = add ? normal(type, c, 9) : unknown(type, c);
        ASSERT_TRUE(norm.backward(
            *stream_,
            {dx.buffer.data(), dw.buffer.data(), db.buffer.data(), before.buffer.data(), add, add},
            dy.buffer.data(), sum.buffer.data(), statistics.buffer.data(), weight.buffer.data(),
            scratch.buffer.data(), shape));
        std::vector<double> to_x(n * c), to_w(c), to_b(c);
        for (std::size_t i = 0; add && i < n * c; ++i) to_x[i] = dx.host[i];
        for (std::size_t i = 0; add && i < c; ++i) to_w[i] = dw.host[i], to_b[i] = db.host[i];
        for (std::size_t row = 0; row < n; ++row) {
          double mean_g = 0, mean_gx = 0;
          const auto unit = [&](std::size_t i) {
            return (sums[row * c + i] - means[row]) * inverses[row];
          };
          for (std::size_t i = 0; i < c; ++i) {
            const double g = double(dy.host[row * c + i]) * weight.host[i];
            mean_g += g / double(c);
            mean_gx += g * unit(i) / double(c);
            to_w[i] += dy.host[row * c + i] * unit(i);
            to_b[i] += dy.host[row * c + i];
          }
          for (std::size_t i = 0; i < c; ++i) {
            const double g = double(dy.host[row * c + i]) * weight.host[i];
            to_x[row * c + i] += inverses[row] * (g - mean_g - unit(i) * mean_gx);
          }
        }
        const std::vector<float> found = read(dx, type);
        expect_near(found, to_x, type, "dx");
        std::vector<double> to_before(c);
        for (std::size_t i = 0; add && i < c; ++i) to_before[i] = before.host[i];
        for (std::size_t i = 0; i < n * c; ++i) to_before[i % c] += found[i];
        expect_near(read(before, type), to_before, type, "bias before");
        expect_near(read(dw, type), to_w, type, "dw");
        expect_near(read(db, type), to_b, type, "db");
      }
      const Values columns = unknown(type, c);
      ASSERT_TRUE(column_sums.of(*stream_, columns.buffer.data(), dy.buffer.data(),
                                 scratch.buffer.data(), shape, false));
      std::vector<double> expected_columns(c);
      for (std::size_t i = 0; i < n * c; ++i) expected_columns[i % c] += dy.host[i];
      expect_near(read(columns, type), expected_columns, type, "column sums");
    }
  }
}

TEST_P(ModelKernels, GeluAndItsSlope) {
  for (const DataType type : types) {
    Activations activations = Activations::create(*device_, type).value();
    Values x = normal(type, 1008, 1);
    for (std::size_t i = 0; i < 16; ++i) x.host[i] = (i % 2 == 0 ? -1.0f : 1.0f) * float(i * i);
    x = values(type, x.host);  // far out it is 0 or x, and its slope 0 or 1
    const Values y = unknown(type, 1008), d = normal(type, 1008, 2);
    ASSERT_TRUE(activations.gelu(*stream_, y.buffer.data(), x.buffer.data(), 1008));
    ASSERT_TRUE(activations.gelu_backward(*stream_, d.buffer.data(), x.buffer.data(), 1008));
    std::vector<double> expected(1008), expected_d(1008);
    for (std::size_t i = 0; i < 1008; ++i) {
      const double v = x.host[i], k = std::sqrt(2 / 3.14159265358979323846);
      const double t = std::tanh(k * (v + 0.044715 * v * v * v));
      expected[i] = v / 2 * (1 + t);
      expected_d[i] =
          d.host[i] * ((1 + t) / 2 + v / 2 * (1 - t * t) * k * (1 + 3 * 0.044715 * v * v));
    }
    expect_near(read(y, type), expected, type, "gelu");
    expect_near(read(d, type), expected_d, type, "slope");
    if (type == DataType::f32) continue;
    expect_within_2_ulp(type, read(y, type), expected, x.host);
    expect_within_2_ulp(type, read(d, type), expected_d, d.host);
  }
}

/// ReLU keeps what is above 0, and a NaN; its gradient passes where the result is above 0.
TEST_P(ModelKernels, ReluAndItsSlope) {
  for (const DataType type : types) {
    Activations activations = Activations::create(*device_, type).value();
    Values y = normal(type, 1008, 1);
    y.host[3] = 0;
    y.host[5] = std::numeric_limits<float>::quiet_NaN();
    y = values(type, y.host);
    const Values d = normal(type, 1008, 2);
    ASSERT_TRUE(activations.relu(*stream_, y.buffer.data(), 1008));
    const std::vector<float> results = read(y, type);
    ASSERT_TRUE(activations.relu_backward(*stream_, d.buffer.data(), y.buffer.data(), 1008));
    const std::vector<float> slopes = read(d, type);
    for (std::size_t i = 0; i < 1008; ++i) {
      if (i == 5) {
        EXPECT_TRUE(std::isnan(results[i]));
        continue;
      }
      EXPECT_EQ(results[i], std::max(y.host[i], 0.0f)) << i;
      EXPECT_EQ(slopes[i], y.host[i] > 0 ? d.host[i] : 0.0f) << i;
    }
  }
}

/// Each row's first half, as SiLU gates it, times its second.
TEST_P(ModelKernels, SwigluOfTwoHalves) {
  for (const DataType type : types) {
    Activations activations = Activations::create(*device_, type).value();
    constexpr std::size_t rows = 5, width = 72;
    const Values x = normal(type, rows * 2 * width, 1), y = unknown(type, rows * width);
    ASSERT_TRUE(activations.swiglu(*stream_, y.buffer.data(), x.buffer.data(), rows, width));
    std::vector<double> expected;
    for (std::size_t i = 0; i < rows * width; ++i) {
      const std::size_t gate = i / width * 2 * width + i % width;
      const double g = x.host[gate];
      expected.push_back(g / (1 + std::exp(-g)) * x.host[gate + width]);
    }
    expect_near(read(y, type), expected, type, "swiglu");
  }
}

/// The second batch's rows, mean squared errors against its targets, and their gradients.
TEST_P(ModelKernels, SquaredErrorInPlace) {
  for (const DataType type : types) {
    SquaredError error = SquaredError::create(*device_, type).value();
    constexpr std::int64_t rows = 5, inputs = 24, outputs = 40;
    const RegressionBatches host = synthetic_regression(2, rows, inputs, outputs, 3);
    const DeviceRegressionBatches data =
        DeviceRegressionBatches::upload(*device_, *stream_, type, host).value();
    StepState state = {};
    state.step = 2;
    const Buffer on_device = upload(std::vector<StepState>{state});
    const BatchChoice choice = {on_device.as<StepState>(), 2, 2, 1};  // pass 5 of all
    const Values x = unknown(type, rows * inputs), y = normal(type, rows * outputs, 4);
    const Values losses = unknown(DataType::f32, rows);
    ASSERT_TRUE(error.choose_inputs(*stream_, x.buffer.data(), data, choice, {rows, inputs}));
    ASSERT_TRUE(error.forward_backward(*stream_, y.buffer.data(), losses.buffer.data(), data,
                                       choice, {rows, outputs}));
    const std::vector<float> chosen(host.x.begin() + rows * inputs, host.x.end());
    EXPECT_EQ(read(x, type), chosen);
    std::vector<double> expected(rows * outputs), expected_losses(rows);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double difference = double(y.host[i]) - host.targets[rows * outputs + i];
      expected[i] = 2 * difference / (2 * rows * outputs);  // of two passes
      expected_losses[i / outputs] += difference * difference / outputs;
    }
    expect_near(read(y, type), expected, type, "gradient");
    expect_near(read(losses, DataType::f32), expected_losses, DataType::f32, "losses");
  }
}

/// Loss and gradient of a vocabulary that ends inside a pack; the padding gets zeros.
TEST_P(ModelKernels, CrossEntropyInPlace) {
  for (const DataType type : types) {
    CrossEntropy loss = CrossEntropy::create(*device_, type).value();
    constexpr std::int64_t rows = 5, vocabulary = 1003, columns = 1024;
    TokenBatches host;
    host.batches = 2;
    host.tokens_per_batch = rows;
    host.tokens.assign(2 * rows, 0);
    host.targets = {0, 0, 0, 0, 0, 0, 1002, 500, 7, 8};  // of which the second batch is read
    host.order.assign(2 * rows, 0);
    host.starts.assign(2 * (rows + 1), 0);
    const DeviceBatches data = DeviceBatches::upload(*device_, *stream_, host).value();
    StepState state = {};
    state.step = 3;
    const Buffer on_device = upload(std::vector<StepState>{state});
    const BatchChoice choice = {on_device.as<StepState>(), 2, 1, 0};
    std::vector<float> wanted = normal(type, rows * columns, 3).host;
    for (std::size_t i = 0; i < columns; ++i) wanted[4 * columns + i] *= 30;  // nearly certain
    const Values logits = values(type, wanted);
    const Values losses = unknown(DataType::f32, rows);
    LossHistory history = LossHistory::create(*device_).value();
    ASSERT_TRUE(loss.forward_backward(*stream_, logits.buffer.data(), losses.buffer.data(), data,
                                      choice, vocabulary, columns));
    ASSERT_TRUE(history.record(*stream_, losses.buffer.data(), choice, rows, true));
    std::vector<double> expected(rows * columns), expected_losses(rows);
    double mean = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const auto target = static_cast<std::size_t>(host.targets[rows + row]);
      const float* x = &logits.host[row * columns];
      double largest = x[0], total = 0;
      for (std::size_t i = 0; i < vocabulary; ++i) largest = std::max(largest, double(x[i]));
      for (std::size_t i = 0; i < vocabulary; ++i) total += std::exp(x[i] - largest);
      for (std::size_t i = 0; i < vocabulary; ++i) {
        expected[row * columns + i] =
            (std::exp(x[i] - largest) / total - (i == target ? 1 : 0)) / rows;
      }
      expected_losses[row] = largest + std::log(total) - x[target];
      mean += expected_losses[row] / rows;
    }
    expect_near(read(logits, type), expected, type, "gradient");
    expect_near(read(losses, DataType::f32), expected_losses, DataType::f32, "loss");
    EXPECT_NEAR(history.read(*stream_, 3, 1).value()[0], mean, 1e-4 * mean);
  }
}

/// Attention of one head after the other in double.
struct AttentionReference {
  std::vector<double> y, log_sum, d_qkv;

  AttentionReference(const AttentionShape& s, const std::vector<float>& qkv,
                     const std::vector<float>& dy)
      : y(dy.size()), log_sum(std::size_t(s.batch * s.heads * s.sequence)), d_qkv(qkv.size()) {
    const auto t = std::size_t(s.sequence), d = std::size_t(s.head_width);
    const std::size_t c = std::size_t(s.width());
    const double scale = 1 / std::sqrt(double(d));
    std::vector<double> p(t), dp(t);
    for (std::size_t head = 0; head < std::size_t(s.batch * s.heads); ++head) {
      const std::size_t h = head % std::size_t(s.heads), first = head / std::size_t(s.heads) * t;
      const auto at = [&](std::size_t token, std::size_t which) {
        return (first + token) * 3 * c + which * c + h * d;
      };
      for (std::size_t i = 0; i < t; ++i) {
        double largest = -1e300, total = 0, delta = 0;
        for (std::size_t j = 0; j <= i; ++j) {
          p[j] = dp[j] = 0;
          for (std::size_t k = 0; k < d; ++k) {
            p[j] += scale * qkv[at(i, 0) + k] * qkv[at(j, 1) + k];
            dp[j] += double(dy[(first + i) * c + h * d + k]) * qkv[at(j, 2) + k];
          }
          largest = std::max(largest, p[j]);
        }
        for (std::size_t j = 0; j <= i; ++j) total += std::exp(p[j] - largest);
        log_sum[head * t + i] = largest + std::log(total);
        for (std::size_t j = 0; j <= i; ++j) {
          p[j] = std::exp(p[j] - log_sum[head * t + i]);
          delta += p[j] * dp[j];
        }
        for (std::size_t j = 0; j <= i; ++j) {
          const double ds = scale * p[j] * (dp[j] - delta);
          for (std::size_t k = 0; k < d; ++k) {
            y[(first + i) * c + h * d + k] += p[j] * qkv[at(j, 2) + k];
            d_qkv[at(j, 2) + k] += p[j] * dy[(first + i) * c + h * d + k];
            d_qkv[at(i, 0) + k] += ds * qkv[at(j, 1) + k];
            d_qkv[at(j, 1) + k] += ds * qkv[at(i, 0) + k];
          }
        }
      }
    }
  }
};

/// Both ways, with scores so large that a few keys take nearly all weight.
TEST_P(ModelKernels, AttentionEitherWay) {
  const AttentionShape shapes[] = {{2, 70, 2, 32}, {1, 129, 2, 64}, {1, 65, 1, 128}, {1, 1, 3, 64}};
  for (const AttentionShape& s : shapes) {
    const auto rows = std::size_t(s.batch * s.sequence), c = std::size_t(s.width());
    for (const auto& [type, own] : {std::pair(DataType::f32, false),
                                    {DataType::bf16, false},
                                    {DataType::bf16, true},
                                    {DataType::f16, false},
                                    {DataType::f16, true}}) {
      Values qkv = normal(type, rows * 3 * c, 1);
      for (float& x : qkv.host) x *= 1.6f;
      qkv = values(type, qkv.host);
      const Values dy = normal(type, rows * c, 2), y = unknown(type, rows * c);
      const Values d_qkv = unknown(type, rows * 3 * c);
      const auto squares = std::size_t(s.batch * s.heads * s.sequence * s.sequence);
      const Values probabilities = unknown(type, squares);
      const Values log_sum = unknown(DataType::f32, std::size_t(s.batch * s.heads * s.sequence));
      const Values scratch = unknown(DataType::f32, 2 * squares + rows * c);
      GemmPlans plans(*device_, *stream_, {.measure = false, .own_if_none = true}, ChoiceCache({}));
      auto attention = own ? own_attention(*device_, type, s.head_width)
                           : plain_attention(*device_, plans, type);
      ASSERT_TRUE(attention) << attention.error().message;
      const AttentionMemory memory = {probabilities.buffer.data(), log_sum.buffer.data(),
                                      scratch.buffer.data()};
      ASSERT_TRUE((*attention)->forward(*stream_, y.buffer.data(), qkv.buffer.data(), memory, s));
      ASSERT_TRUE((*attention)
                      ->backward(*stream_, d_qkv.buffer.data(), dy.buffer.data(), y.buffer.data(),
                                 qkv.buffer.data(), memory, s));
      const AttentionReference expected(s, qkv.host, dy.host);
      const std::string what = own ? "own" : "plain";
      expect_near(read(y, type), expected.y, type, what + " y");
      expect_near(read(d_qkv, type), expected.d_qkv, type, what + " gradient");
      if (!own) continue;
      const std::vector<float> found = read(log_sum, DataType::f32);
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(found[i], expected.log_sum[i], 1e-4) << i;
      }
    }
  }
}

TEST_P(ModelKernels, ArraysAsArrays) {
  for (const DataType type : types) {
    Elementwise arrays = Elementwise::create(*device_, type).value();
    constexpr std::size_t count = 1288;
    const Values x = normal(type, count, 1), y = normal(type, count, 2);
    std::vector<double> sums;
    for (std::size_t i = 0; i < count; ++i) sums.push_back(double(x.host[i]) + y.host[i]);
    ASSERT_TRUE(arrays.add(*stream_, y.buffer.data(), x.buffer.data(), count));
    expect_near(read(y, type), sums, type, "sum");

    const auto checksum = [&](const Values& of, std::uint64_t first) {
      const Buffer sum = upload(std::vector<std::uint64_t>{0});
      EXPECT_TRUE(arrays.checksum(*stream_, sum.as<std::uint64_t>(), of.buffer.data(),
                                  count * size_of(type), first));
      return read_back<std::uint64_t>(*stream_, sum.as<std::uint64_t>(), 1).value().front();
    };
    std::vector<float> swapped = x.host;
    std::swap(swapped[3], swapped[1000]);
    EXPECT_EQ(checksum(x, 0), checksum(values(type, x.host), 0));
    EXPECT_NE(checksum(x, 0), checksum(values(type, swapped), 0));
    EXPECT_NE(checksum(x, 0), checksum(x, 1));

    if (type == DataType::f32) continue;
    const Values wide = unknown(DataType::f32, count), narrow = unknown(type, count);
    ASSERT_TRUE(arrays.widen(*stream_, wide.buffer.as<float>(), x.buffer.data(), count));
    EXPECT_EQ(read(wide, DataType::f32), x.host);
    ASSERT_TRUE(arrays.narrow(*stream_, narrow.buffer.data(), wide.buffer.as<float>(), count));
    EXPECT_EQ(read(narrow, type), x.host);
  }
}

/// The norm of gradients of which another rank has the other half; two pieces here.
TEST_P(ModelKernels, ClippingByTheNormOverRanks) {
  constexpr std::size_t count = 64;
  const Values weights = values(DataType::f32, std::vector<float>(2 * count, 1.0f));
  const Values gradients = values(DataType::f32, std::vector<float>(2 * count, 3.0f));
  StepState state = {};
  const Buffer on_device = upload(std::vector<StepState>{state});
  ParameterPlan plan;
  plan.type = DataType::f32;
  plan.optimizer = Optimizer::sgd;
  std::vector<UpdatePiece> pieces;
  for (const std::size_t begin : {std::size_t{0}, count}) {
    pieces.push_back({.weights = weights.buffer.as<float>() + begin,
                      .gradients = gradients.buffer.as<float>() + begin,
                      .begin = begin,
                      .elements = count});
  }
  const UpdateSettings settings = {0.0f, 0.0f, 1e-8f, 0.0f, 1.0f};
  Elementwise arrays = Elementwise::create(*device_, plan.type).value();
  WeightUpdate update =
      WeightUpdate::create(*device_, *stream_, plan, settings, {0.5f}, pieces, 7, arrays).value();
  const SumOverRanks twice = [&](Stream& stream, float* sum) -> Status {
    const float here = TRY(read_back<float>(stream, sum, 1)).front();
    EXPECT_FLOAT_EQ(here, 9 * 2 * count);
    const float all = 2 * here;
    TRY(stream.copy(sum, &all, sizeof all));
    return stream.synchronize();
  };
  ASSERT_TRUE(update.update(*stream_, on_device.as<StepState>(), twice));
  const float norm = std::sqrt(9.0f * 4 * count);
  for (const float x : read(weights, DataType::f32)) ASSERT_NEAR(x, 1 - 0.5 * 3 / norm, 1e-5);
}

/// Stochastic rounding: the mean of many small updates is right, where rounding to nearest would
/// lose each of them.
TEST_P(ModelKernels, StochasticUpdatesAreNotLost) {
  constexpr std::size_t count = 8192;
  UpdateSettings settings = {0.0f, 0.0f, 1e-8f, 0.0f, 0.0f};  // each step is -rate * sign(g)
  ParameterPlan plan;
  plan.states = OptimizerStates::stochastic;
  const Values weights = values(DataType::bf16, std::vector<float>(count, 1.0f));
  const Values gradients = values(DataType::bf16, std::vector<float>(count, 0.5f));
  const Values first = unknown(DataType::bf16, count), second = unknown(DataType::bf16, count);
  StepState state = {};
  state.beta1_power = state.beta2_power = 1;
  const Buffer on_device = upload(std::vector<StepState>{state});
  const std::vector<UpdatePiece> pieces = {{.weights = weights.buffer.data(),
                                            .first = first.buffer.data(),
                                            .second = second.buffer.data(),
                                            .gradients = gradients.buffer.data(),
                                            .elements = count}};
  Elementwise arrays = Elementwise::create(*device_, plan.type).value();
  WeightUpdate update =
      WeightUpdate::create(*device_, *stream_, plan, settings, {1e-3f}, pieces, 7, arrays).value();
  ASSERT_TRUE(update.begin(*stream_));
  for (int step = 0; step < 4; ++step) {
    ASSERT_TRUE(update.update(*stream_, on_device.as<StepState>(), nullptr));
  }
  const std::vector<float> found = read(weights, DataType::bf16);
  double mean = 0;
  for (const float x : found) mean += x / double(count);
  // bf16 has steps of 1/256 below 1; the deviation of the mean is below 1/256 / sqrt(8192).
  EXPECT_NEAR(mean, 1 - 4e-3, 5.0 / 256 / std::sqrt(double(count)));
}

ASSAY_KERNEL_BUILDS(ModelKernels);

}  // namespace
}  // namespace assay
