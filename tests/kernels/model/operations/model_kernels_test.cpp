// The operations of a transformer one by one, over awkward shapes in f32, bf16 and f16, against
// references in double that are given the same, rounded inputs.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "model/data/token_batches.h"
#include "model/operations/activations.h"
#include "model/operations/column_sums.h"
#include "model/operations/cross_entropy.h"
#include "model/operations/embedding.h"
#include "model/operations/loss_history.h"
#include "model/operations/norm.h"
#include "model/operations/squared_error.h"
#include "support/model_test.h"

namespace assay {
namespace {

class ModelKernels : public ModelTest {};

/// Layer norm, which is centred, or RMS norm, forward and backward.
class NormKernels : public ModelTest {
 protected:
  void expect_norm(DataType type, bool centred) {
    constexpr double epsilon = 1e-5;
    ColumnSums column_sums = ColumnSums::create(*device_, type).value();
    Norm norm =
        centred ? Norm::layer(*device_, type).value() : Norm::rms(*device_, type, epsilon).value();
    for (const Rows shape : {Rows{1, 8}, Rows{3, 72}, Rows{67, 520}}) {
      const auto n = static_cast<std::size_t>(shape.rows),
                 c = static_cast<std::size_t>(shape.width);
      const Values x = normal(type, n * c, 1, 3), branch = normal(type, n * c, 2);
      const Values weight = normal(type, c, 3, 1), bias = normal(type, c, 4);
      const Values sum = unknown(type, n * c), normed = unknown(type, n * c);
      const Values statistics = unknown(DataType::f32, 2 * n);
      ASSERT_TRUE(norm.forward(*stream_, normed.buffer.data(), statistics.buffer.data(),
                               sum.buffer.data(), x.buffer.data(), branch.buffer.data(),
                               weight.buffer.data(), centred ? bias.buffer.data() : nullptr,
                               shape));
      const std::vector<float> sums = read(sum, type);  // as rounded, which the norm reads
      std::vector<double> expected_sum(n * c), expected(n * c);
      std::vector<double> means(n), inverses(n);
      for (std::size_t row = 0; row < n; ++row) {
        for (std::size_t i = 0; i < c; ++i) {
          expected_sum[row * c + i] = double(x.host[row * c + i]) + branch.host[row * c + i];
          if (centred) means[row] += double(sums[row * c + i]) / double(c);
        }
        double variance = 0;
        for (std::size_t i = 0; i < c; ++i) {
          variance += std::pow(sums[row * c + i] - means[row], 2) / double(c);
        }
        inverses[row] = 1 / std::sqrt(variance + epsilon);
        for (std::size_t i = 0; i < c; ++i) {
          expected[row * c + i] =
              (sums[row * c + i] - means[row]) * inverses[row] * weight.host[i] +
              (centred ? bias.host[i] : 0);
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
        ASSERT_TRUE(
            norm.backward(*stream_, column_sums,
                          {dx.buffer.data(), dw.buffer.data(), centred ? db.buffer.data() : nullptr,
                           before.buffer.data(), add, add},
                          dy.buffer.data(), sum.buffer.data(), statistics.buffer.data(),
                          weight.buffer.data(), scratch.buffer.data(), shape));
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
            if (centred) mean_g += g / double(c);
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
        if (centred) expect_near(read(db, type), to_b, type, "db");
      }
      const Values columns = unknown(type, c);
      ASSERT_TRUE(column_sums.of(*stream_, columns.buffer.data(), dy.buffer.data(),
                                 scratch.buffer.data(), shape, false));
      std::vector<double> expected_columns(c);
      for (std::size_t i = 0; i < n * c; ++i) expected_columns[i % c] += dy.host[i];
      expect_near(read(columns, type), expected_columns, type, "column sums");
    }
  }
};

TEST_P(NormKernels, LayerNormWithTheAdditionBeforeIt) {
  for (const DataType type : types) expect_norm(type, true);
}

TEST_P(NormKernels, RmsNormWithTheAdditionBeforeIt) {
  for (const DataType type : types) expect_norm(type, false);
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
TEST_P(ModelKernels, SwigluOfTwoHalvesAndItsGradient) {
  for (const DataType type : types) {
    Activations activations = Activations::create(*device_, type).value();
    constexpr std::size_t rows = 5, width = 72;
    const Values x = normal(type, rows * 2 * width, 1), y = unknown(type, rows * width);
    const Values scales = values(DataType::f32, std::vector<float>(8, 0.0f));  // two of 16 bytes
    float* const scale = scales.buffer.as<float>();
    ASSERT_TRUE(activations.swiglu(*stream_, y.buffer.data(), x.buffer.data(), rows, width, scale));
    std::vector<double> expected;
    for (std::size_t i = 0; i < rows * width; ++i) {
      const std::size_t gate = i / width * 2 * width + i % width;
      const double g = x.host[gate];
      expected.push_back(g / (1 + std::exp(-g)) * x.host[gate + width]);
    }
    expect_near(read(y, type), expected, type, "swiglu");
    const Values dy = normal(type, rows * width, 2), d = unknown(type, rows * 2 * width);
    ASSERT_TRUE(activations.swiglu_backward(*stream_, d.buffer.data(), dy.buffer.data(),
                                            x.buffer.data(), rows, width, scale + 4));
    std::vector<double> expected_d(rows * 2 * width);
    for (std::size_t i = 0; i < rows * width; ++i) {
      const std::size_t gate = i / width * 2 * width + i % width;
      const double g = x.host[gate], s = 1 / (1 + std::exp(-g));
      expected_d[gate] = dy.host[i] * x.host[gate + width] * s * (1 + g * (1 - s));
      expected_d[gate + width] = dy.host[i] * g * s;
    }
    expect_near(read(d, type), expected_d, type, "gradient of swiglu");
    const auto largest = [](const std::vector<float>& numbers) {
      float most = 0;
      for (const float number : numbers) most = std::max(most, std::abs(number));
      return most;
    };
    EXPECT_EQ(read(scales, DataType::f32)[1], largest(read(y, type)));
    EXPECT_EQ(read(scales, DataType::f32)[5], largest(read(d, type)));
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

/// Rows of tokens and positions, and their gradients: added up over equal tokens, and over the
/// batch.
TEST_P(ModelKernels, EmbeddingsAndTheirGradients) {
  for (const DataType type : types) {
    Embedding embedding = Embedding::create(*device_, type).value();
    for (const std::int64_t width : {8, 72, 264}) {
      constexpr std::int64_t vocabulary = 13, batch = 3, sequence = 5, rows = batch * sequence;
      const auto c = static_cast<std::size_t>(width);
      const TokenBatches host =
          cut_batches(synthetic_tokens(vocabulary, 512, 5), 2, batch, sequence, 5).value();
      const DeviceBatches data = DeviceBatches::upload(*device_, *stream_, host).value();
      StepState state = {};
      state.step = 1;  // which reads the second batch
      const Buffer on_device = upload(std::vector<StepState>{state});
      const BatchChoice choice = {on_device.as<StepState>(), 2, 1, 0};
      const std::int32_t* const tokens = &host.tokens[rows];
      const Values of_tokens = normal(type, vocabulary * c, 1),
                   of_positions = normal(type, sequence * c, 2), x = unknown(type, rows * c);
      ASSERT_TRUE(embedding.forward(*stream_, x.buffer.data(), of_tokens.buffer.data(),
                                    of_positions.buffer.data(), data, choice, sequence, width));
      std::vector<double> expected;
      for (std::size_t i = 0; i < rows * c; ++i) {
        const auto token = static_cast<std::size_t>(tokens[i / c]);
        expected.push_back(double(of_tokens.host[token * c + i % c]) +
                           of_positions.host[i / c % sequence * c + i % c]);
      }
      expect_near(read(x, type), expected, type, "embedded");
      ASSERT_TRUE(embedding.forward(*stream_, x.buffer.data(), of_tokens.buffer.data(), nullptr,
                                    data, choice, sequence, width));
      for (std::size_t i = 0; i < rows * c; ++i) {
        expected[i] = of_tokens.host[static_cast<std::size_t>(tokens[i / c]) * c + i % c];
      }
      expect_near(read(x, type), expected, type, "embedded without positions");
      const Values dx = normal(type, rows * c, 3);
      for (const bool add : {false, true}) {
        const Values to_tokens = normal(type, vocabulary * c, 4);
        const Values to_positions =
            add ? normal(type, sequence * c, 5) : unknown(type, sequence * c);
        ASSERT_TRUE(embedding.backward(*stream_, to_tokens.buffer.data(),
                                       to_positions.buffer.data(), dx.buffer.data(), data, choice,
                                       sequence, width, add));
        std::vector<double> tokens_sum(to_tokens.host.begin(), to_tokens.host.end());
        std::vector<double> positions_sum(sequence * c);
        for (std::size_t i = 0; add && i < sequence * c; ++i)
          positions_sum[i] = to_positions.host[i];
        for (std::size_t i = 0; i < rows * c; ++i) {
          tokens_sum[static_cast<std::size_t>(tokens[i / c]) * c + i % c] += dx.host[i];
          positions_sum[i / c % sequence * c + i % c] += dx.host[i];
        }
        expect_near(read(to_tokens, type), tokens_sum, type, "of tokens");
        expect_near(read(to_positions, type), positions_sum, type, "of positions");
      }
    }
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
                                      choice, 0, rows, vocabulary, columns));
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

/// Part of a batch's rows: ignored targets have no loss and no gradient, and the mean is over the
/// others of all passes of the step.
TEST_P(ModelKernels, CrossEntropyIgnoresTargets) {
  for (const DataType type : types) {
    CrossEntropy loss = CrossEntropy::create(*device_, type).value();
    constexpr std::int64_t rows = 5, vocabulary = 100, columns = 128;
    TokenBatches host;
    host.batches = 2;
    host.tokens_per_batch = rows;
    host.tokens.assign(2 * rows, 0);
    host.targets = {1, ignored_target, 99, ignored_target, 2, 3, ignored_target, 4, 5, 6};
    host.document_starts.assign(2 * rows, 0);
    host.order.assign(2 * rows, 0);
    host.starts.assign(2 * (rows + 1), 0);
    const DeviceBatches data = DeviceBatches::upload(*device_, *stream_, host).value();
    ASSERT_EQ(data.counted, 7);
    const Buffer state = upload(std::vector<StepState>{StepState{}});
    const BatchChoice choice = {state.as<StepState>(), 2, 2, 0, data.targets_of_batches()};
    const Values logits = normal(type, 3 * columns, 3), losses = unknown(DataType::f32, rows);
    ASSERT_TRUE(loss.forward_backward(*stream_, logits.buffer.data(), losses.buffer.data(), data,
                                      choice, 1, 3, vocabulary, columns));
    std::vector<double> expected(3 * columns);
    double total = 0;
    for (std::size_t i = 0; i < vocabulary; ++i) total += std::exp(logits.host[columns + i]);
    for (std::size_t i = 0; i < vocabulary; ++i) {
      expected[columns + i] = (std::exp(logits.host[columns + i]) / total - (i == 99 ? 1 : 0)) / 7;
    }
    expect_near(read(logits, type), expected, type, "gradient");
    const std::vector<float> found = read(losses, DataType::f32);
    EXPECT_EQ(found[1], 0);
    EXPECT_NEAR(found[2], std::log(total) - logits.host[columns + 99], 1e-4);
    EXPECT_EQ(found[3], 0);
    LossHistory history = LossHistory::create(*device_).value();
    const Values of_pass = values(DataType::f32, {7, 0, 14, 0, 0});
    ASSERT_TRUE(history.record(*stream_, of_pass.buffer.data(), choice, rows, true));
    EXPECT_EQ(history.read(*stream_, 0, 1).value()[0], 3);
  }
}

ASSAY_KERNEL_BUILDS(ModelKernels);
ASSAY_KERNEL_BUILDS(NormKernels);

}  // namespace
}  // namespace assay
