#include "libraries/gemm.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "libraries/hooks.h"

namespace mi300x {
namespace {

/// A tile of sums that fits into the processor's registers.
constexpr std::int64_t tile_rows = 8, tile_columns = 6;

/// Checks the elements of every column, without the padding.
template <typename Check>
void each_column(const Matrix& matrix, std::int64_t batch, Check check) {
  const auto size = static_cast<std::int64_t>(bytes_of(matrix.type));
  for (std::int64_t z = 0; z < batch; ++z) {
    for (std::int64_t j = 0; j < matrix.columns; ++j) {
      check(static_cast<char*>(matrix.data) + (z * matrix.stride + j * matrix.ld) * size,
            static_cast<std::size_t>(matrix.rows * size));
    }
  }
}

void check_matrix_read(const Matrix& matrix, std::int64_t batch) {
  each_column(matrix, batch, [](char* at, std::size_t bytes) { check_read(at, bytes); });
}

void check_matrix_write(const Matrix& matrix, std::int64_t batch) {
  each_column(matrix, batch, [](char* at, std::size_t bytes) { check_write(at, bytes); });
}

/// Returns one matrix of a batch in double, in tiles of `height` rows of op(X). Tile t holds, for
/// each column of op(X), `height` consecutive elements; elements beyond the edge are 0.
std::vector<double> packed(const Matrix& matrix, std::int64_t z, bool transpose,
                           std::int64_t height) {
  const std::int64_t rows = transpose ? matrix.columns : matrix.rows;
  const std::int64_t inner = transpose ? matrix.rows : matrix.columns;
  const std::int64_t tiles = (rows + height - 1) / height;
  std::vector<double> all(static_cast<std::size_t>(tiles * height * inner), 0.0);
  with_element(matrix.type, [&](auto element) {
    const auto* from = static_cast<const decltype(element)*>(matrix.data) + z * matrix.stride;
    for (std::int64_t j = 0; j < matrix.columns; ++j) {
      for (std::int64_t i = 0; i < matrix.rows; ++i) {
        const std::int64_t row = transpose ? j : i, l = transpose ? i : j;
        const std::int64_t at = (row / height * inner + l) * height + row % height;
        all[static_cast<std::size_t>(at)] = decode(from[j * matrix.ld + i]);
      }
    }
  });
  return all;
}

using Tile = double[tile_columns][tile_rows];

void multiply(const double* a, const double* b, std::int64_t inner, Tile& sums) {
  Tile own = {};  // not aliased, so the compiler keeps it in registers
  for (std::int64_t l = 0; l < inner; ++l, a += tile_rows, b += tile_columns) {
    for (int j = 0; j < tile_columns; ++j) {
      for (int i = 0; i < tile_rows; ++i) own[j][i] += a[i] * b[j];
    }
  }
  std::copy(&own[0][0], &own[0][0] + tile_rows * tile_columns, &sums[0][0]);
}

/// Calls `work` with every number below `count`, on all processors.
template <typename Work>
void in_parallel(std::int64_t count, Work work) {
  const std::int64_t threads =
      std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, count);
  std::vector<std::jthread> helpers;
  const auto share = [&](std::int64_t first) {
    for (std::int64_t i = first; i < count; i += threads) work(i);
  };
  for (std::int64_t i = 1; i < threads; ++i) helpers.emplace_back(share, i);
  share(0);
}

double gelu(double x) {
  constexpr double factor = 0.7978845608028654;  // sqrt(2 / pi)
  return x / 2 * (1 + std::tanh(factor * (x + 0.044715 * x * x * x)));
}

double gelu_slope(double y) {
  constexpr double factor = 0.7978845608028654;
  const double t = std::tanh(factor * (y + 0.044715 * y * y * y));
  return (1 + t) / 2 + y / 2 * (1 - t * t) * factor * (1 + 0.134145 * y * y);
}

class Product {
 public:
  explicit Product(const Gemm& gemm) : g_(gemm) {}

  void run() {
    check();
    scale_ = g_.alpha;
    if (!g_.scales_lines) scale_ *= factor(g_.scale_a) * factor(g_.scale_b);
    for (std::int64_t z = 0; z < g_.batch; ++z) multiply_one(z);
    if (g_.amax_d != nullptr) *g_.amax_d = static_cast<float>(largest_);
    if (g_.epilogue & epilogue_bias_gradient) sum_rows_of_d();
    if (g_.epilogue & epilogue_gradient_a) sum_inner(g_.a, !g_.transpose_a);
    if (g_.epilogue & epilogue_gradient_b) sum_inner(g_.b, g_.transpose_b);
  }

 private:
  void check() const {
    check_matrix_read(g_.a, g_.batch);
    check_matrix_read(g_.b, g_.batch);
    if (g_.beta != 0) check_matrix_read(g_.c, g_.batch);
    check_matrix_write(g_.d, g_.batch);
    const auto check_factors = [](const float* values, std::int64_t count) {
      if (values != nullptr) check_read(values, static_cast<std::size_t>(count) * sizeof *values);
    };
    check_factors(g_.scale_a, g_.scales_lines ? g_.d.rows : 1);
    check_factors(g_.scale_b, g_.scales_lines ? g_.d.columns : 1);
    check_factors(g_.scale_d, 1);
    if (g_.amax_d != nullptr) check_write(g_.amax_d, sizeof *g_.amax_d);
    const auto bias_bytes = [&](std::int64_t n) {
      return static_cast<std::size_t>(n) * bytes_of(g_.bias_type);
    };
    if (g_.epilogue & epilogue_bias) check_read(g_.bias, bias_bytes(g_.d.rows));
    if (g_.epilogue & (epilogue_bias_gradient | epilogue_gradient_a)) {
      check_write(g_.bias, bias_bytes(g_.d.rows));
    }
    if (g_.epilogue & epilogue_gradient_b) check_write(g_.bias, bias_bytes(g_.d.columns));
    if (g_.epilogue & epilogue_aux) check_matrix_write(g_.aux, g_.batch);
    if (g_.epilogue & epilogue_gelu_gradient) check_matrix_read(g_.aux, g_.batch);
  }

  static double factor(const float* value) { return value == nullptr ? 1 : *value; }

  void multiply_one(std::int64_t z) {
    const std::int64_t inner = g_.inner();
    const std::vector<double> a = packed(g_.a, z, g_.transpose_a, tile_rows);
    const std::vector<double> b = packed(g_.b, z, !g_.transpose_b, tile_columns);
    const std::int64_t down = (g_.d.rows + tile_rows - 1) / tile_rows;
    const std::int64_t across = (g_.d.columns + tile_columns - 1) / tile_columns;
    in_parallel(across, [&](std::int64_t column) {
      double largest = 0;
      for (std::int64_t row = 0; row < down; ++row) {
        Tile sums = {};
        multiply(a.data() + row * tile_rows * inner, b.data() + column * tile_columns * inner,
                 inner, sums);
        finish(z, row * tile_rows, column * tile_columns, sums, largest);
      }
      const std::lock_guard lock(mutex_);
      largest_ = std::max(largest_, largest);
    });
  }

  void finish(std::int64_t z, std::int64_t row, std::int64_t column, const Tile& sums,
              double& largest) const {
    const double scale_d = factor(g_.scale_d);
    for (std::int64_t j = column; j < std::min(column + tile_columns, g_.d.columns); ++j) {
      for (std::int64_t i = row; i < std::min(row + tile_rows, g_.d.rows); ++i) {
        double x = scale_ * sums[j - column][i - row];
        if (g_.scales_lines) x *= double{g_.scale_a[i]} * g_.scale_b[j];
        if (g_.beta != 0) x += g_.beta * load(g_.c.data, g_.c.type, place(g_.c, z, i, j));
        x = after(x, z, i, j);
        largest = std::max(largest, std::abs(x));
        store(g_.d.data, g_.d.type, place(g_.d, z, i, j), scale_d * x);
      }
    }
  }

  static std::int64_t place(const Matrix& m, std::int64_t z, std::int64_t i, std::int64_t j) {
    return z * m.stride + j * m.ld + i;
  }

  double after(double x, std::int64_t z, std::int64_t i, std::int64_t j) const {
    if (g_.epilogue & epilogue_bias) x += load(g_.bias, g_.bias_type, i);
    if (g_.epilogue & epilogue_relu) return std::max(x, 0.0);
    if (g_.epilogue & epilogue_gelu) {
      if (g_.epilogue & epilogue_aux) store(g_.aux.data, g_.aux.type, place(g_.aux, z, i, j), x);
      return gelu(x);
    }
    if (g_.epilogue & epilogue_gelu_gradient) {
      return x * gelu_slope(load(g_.aux.data, g_.aux.type, place(g_.aux, z, i, j)));
    }
    return x;
  }

  void sum_rows_of_d() const {
    for (std::int64_t i = 0; i < g_.d.rows; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < g_.d.columns; ++j) {
        sum += load(g_.d.data, g_.d.type, place(g_.d, 0, i, j));
      }
      store(g_.bias, g_.bias_type, i, sum);
    }
  }

  /// Writes the sums over the inner index to the bias; the outer index is the row if `along_rows`.
  void sum_inner(const Matrix& matrix, bool along_rows) const {
    const std::int64_t outer = along_rows ? matrix.rows : matrix.columns;
    const std::int64_t inner = along_rows ? matrix.columns : matrix.rows;
    for (std::int64_t i = 0; i < outer; ++i) {
      double sum = 0;
      for (std::int64_t l = 0; l < inner; ++l) {
        sum += load(matrix.data, matrix.type,
                    along_rows ? place(matrix, 0, i, l) : place(matrix, 0, l, i));
      }
      store(g_.bias, g_.bias_type, i, sum);
    }
  }

  const Gemm& g_;
  double scale_ = 1;
  std::mutex mutex_;
  double largest_ = 0;
};

}  // namespace

double Gemm::operations() const {
  return 2.0 * static_cast<double>(d.rows) * static_cast<double>(d.columns) *
         static_cast<double>(inner()) * static_cast<double>(batch);
}

void Gemm::run() const {
  Product(*this).run();
  if (std::getenv("MI300X_WRONG_PRODUCTS") != nullptr) {
    const std::int64_t last = (batch - 1) * d.stride + (d.columns - 1) * d.ld + d.rows - 1;
    store(d.data, d.type, last, 1 - 2 * load(d.data, d.type, last));
  }
}

double Gemm::seconds() const {
  // The default is short, because training's ranks look for exchanges that take as long as their
  // passes. Comparisons of solutions set far more than the delay that a busy host adds.
  const char* const text = std::getenv("MI300X_PRODUCT_SECONDS");
  const double launch = text == nullptr ? 5e-6 : std::atof(text);
  const std::size_t size = bytes_of(a.type);
  const double peak = size == 1 ? 2.6e15 : size == 2 ? 1.3e15 : 1.6e14;  // of MI300X, dense
  return launch + operations() / peak;
}

}  // namespace mi300x
