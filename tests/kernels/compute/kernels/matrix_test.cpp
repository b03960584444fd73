// src/compute/kernels/matrix.cu in every build against plain double-precision loops; the
// verification that uses it, against planted faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "compute/kernels/element_types.h"
#include "measure/benchmarks/gemm/gemm_tolerance.h"
#include "measure/benchmarks/gemm/gemm_verify.h"
#include "support/kernel_test.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// Element `i` of host memory as double, implemented independently of the kernels' element_at().
double element(const void* data, DataType type, std::size_t i) {
  switch (type) {
    case DataType::f64:
      return static_cast<const double*>(data)[i];
    case DataType::f32:
    case DataType::tf32:
      return static_cast<const float*>(data)[i];
    case DataType::f16:
      return static_cast<const F16*>(data)[i].decode();
    case DataType::bf16:
      return static_cast<const Bf16*>(data)[i].decode();
    case DataType::e4m3:
      return static_cast<const E4m3*>(data)[i].decode();
    case DataType::e5m2:
      return static_cast<const E5m2*>(data)[i].decode();
    case DataType::e4m3_fnuz:
      return static_cast<const E4m3Fnuz*>(data)[i].decode();
    case DataType::e5m2_fnuz:
      return static_cast<const E5m2Fnuz*>(data)[i].decode();
    case DataType::i8:
      return static_cast<const signed char*>(data)[i];
    case DataType::i32:
      return static_cast<const int*>(data)[i];
    default:
      return NAN;
  }
}

void set_element(void* data, DataType type, std::size_t i, double value) {
  switch (type) {
    case DataType::f64:
      static_cast<double*>(data)[i] = value;
      break;
    case DataType::f32:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      break;
    case DataType::f16:
      static_cast<F16*>(data)[i] = F16::encode(static_cast<float>(value));
      break;
    case DataType::bf16:
      static_cast<Bf16*>(data)[i] = Bf16::encode(static_cast<float>(value));
      break;
    case DataType::i32:
      static_cast<int*>(data)[i] = static_cast<int>(value);
      break;
    default:
      FAIL();
  }
}

/// The contents of an OperandSet's buffers, on the host.
struct HostSet {
  std::vector<std::byte> a, b, d, aux, bias;
};

class Matrix : public KernelTest {
 protected:
  GemmMatrices matrices(const GemmCell& cell, const GemmProblem& problem) {
    auto made = GemmMatrices::create(*device_, *stream_, cell, {problem}, 11);
    EXPECT_TRUE(made) << made.error().message;
    if (cell.pad > 0) {
      EXPECT_TRUE(made->fill_rows(*stream_, problem));
    }
    EXPECT_TRUE(made->poison(*stream_, problem, made->sets().front()));
    EXPECT_TRUE(stream_->synchronize());
    return std::move(made).value();
  }

  HostSet on_host(const OperandSet& set) {
    const auto copy = [&](const Buffer& buffer) {
      return download<std::byte>(buffer.data(), buffer.bytes());
    };
    return {copy(set.a), copy(set.b), copy(set.d), copy(set.aux), copy(set.bias)};
  }
  /// Copies the host's results to the device.
  void write_outputs(const OperandSet& set, const HostSet& host) {
    write(set.d.data(), host.d);
    write(set.aux.data(), host.aux);
    write(set.bias.data(), host.bias);
  }

  /// Computes the problem on the host in double, into the set's outputs.
  void multiply(const GemmProblem& p, const OperandSet& operands) {
    HostSet set = on_host(operands);
    const auto index = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    for (std::int64_t batch = 0; batch < p.batch; ++batch) {
      for (std::int64_t i = 0; i < p.m; ++i) {
        for (std::int64_t j = 0; j < p.n; ++j) {
          GemmSample sample;
          for (std::int64_t k = 0; k < p.k; ++k) {
            const auto at_a = batch * p.stride_a + (p.transpose_a ? k * p.lda + i : i * p.lda + k);
            const auto at_b = batch * p.stride_b + (p.transpose_b ? j * p.ldb + k : k * p.ldb + j);
            sample.sum +=
                element(set.a.data(), p.a, index(at_a)) * element(set.b.data(), p.b, index(at_b));
          }
          if (reads_bias(p.epilogue)) sample.bias = element(set.bias.data(), p.bias, index(j));
          const std::size_t at_aux = index(i * p.ld_aux + j);
          if (reads_aux(p.epilogue)) sample.aux = element(set.aux.data(), p.aux, at_aux);
          if (writes_aux(p.epilogue)) {
            set_element(set.aux.data(), p.aux, at_aux, expected_aux(p, sample).value);
          }
          set_element(set.d.data(), p.d, index(batch * p.stride_d + i * p.ldd + j),
                      expected_d(p, sample, false).value);
        }
      }
    }
    if (writes_bias(p.epilogue)) {
      for (std::int64_t i = 0; i < p.bias_elements(); ++i) {
        double sum = 0;
        if (p.epilogue == Epilogue::bgrad_a) {
          for (std::int64_t k = 0; k < p.k; ++k) {
            sum += element(set.a.data(), p.a, index(p.transpose_a ? k * p.lda + i : i * p.lda + k));
          }
        } else {
          for (std::int64_t row = 0; row < p.m; ++row) {
            sum += element(set.d.data(), p.d, index(row * p.ldd + i));
          }
        }
        set_element(set.bias.data(), p.bias, index(i), sum);
      }
    }
    write_outputs(operands, set);
  }

  Verification verify(GemmMatrices& made, const GemmCell& cell, const GemmProblem& problem) {
    auto verification =
        verify_gemm(*stream_, made, problem, made.sets().front(), largest_input(cell), 5);
    EXPECT_TRUE(verification) << verification.error().message;
    return std::move(verification).value();
  }
};

GemmCell cell_of(std::int64_t m, std::int64_t n, std::int64_t k, DataType dtype) {
  GemmCell cell;
  cell.m = m;
  cell.n = n;
  cell.k = k;
  cell.dtype = dtype;
  cell.layouts = {"TN"};
  return cell;
}

TEST_P(Matrix, PatternsHaveTheirStatistics) {
  for (const DataType type :
       {DataType::f64, DataType::f32, DataType::bf16, DataType::f16, DataType::e4m3, DataType::e5m2,
        DataType::e4m3_fnuz, DataType::e5m2_fnuz, DataType::i8}) {
    for (const Inputs inputs : {Inputs::zeros, Inputs::ones, Inputs::integers, Inputs::normal}) {
      GemmCell cell = cell_of(251, 40, 401, type);
      cell.inputs = inputs;
      const GemmProblem problem = problem_of(cell, "TN");
      const GemmMatrices made = matrices(cell, problem);
      const std::size_t count = 251 * 401;
      const HostSet host = on_host(made.sets()[0]);
      std::map<double, int> seen;
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const double x = element(host.a.data(), problem.a, i);
        if (seen.size() < 10) ++seen[x];
        sum += x;
        squares += x * x;
      }
      const double mean = sum / static_cast<double>(count);
      const double variance = squares / static_cast<double>(count) - mean * mean;
      switch (inputs) {
        case Inputs::zeros:
          EXPECT_EQ(squares, 0);
          break;
        case Inputs::ones:
          EXPECT_EQ(seen.at(1.0), static_cast<int>(count));
          break;
        case Inputs::integers:
          EXPECT_EQ(seen.size(), 5u);
          EXPECT_NEAR(variance, 2, 0.05);
          break;
        case Inputs::normal: {
          const double deviation = type == DataType::i8 ? 32 : 1;
          EXPECT_NEAR(mean, 0, 0.02 * deviation) << name_of(type);
          EXPECT_NEAR(std::sqrt(variance), deviation, 0.02 * deviation) << name_of(type);
        }
      }
    }
  }
}

TEST_P(Matrix, TheTwoInputsAndTheSetsDiffer) {
  GemmCell cell = cell_of(64, 64, 64, DataType::f32);
  cell.rotate_bytes = 3 * 3 * 64 * 64 * 4;
  const GemmMatrices made = matrices(cell, problem_of(cell, "TN"));
  ASSERT_EQ(made.sets().size(), 3u);
  std::set<float> firsts;
  for (const OperandSet& set : made.sets()) {
    for (const Buffer* input : {&set.a, &set.b}) {
      firsts.insert(download<float>(input->data(), 1)[0]);
    }
  }
  EXPECT_EQ(firsts.size(), 6u);
}

TEST_P(Matrix, ACorrectProductPassesOverAwkwardShapesAndLayouts) {
  for (const auto [m, n, k] : {std::array{1, 1, 1}, {1, 7, 3}, {33, 1, 65}, {17, 65, 130}}) {
    for (const DataType type :
         {DataType::f64, DataType::f32, DataType::f16, DataType::bf16, DataType::e4m3,
          DataType::e5m2, DataType::e4m3_fnuz, DataType::i8}) {
      for (const char* layout : {"NN", "TN", "NT", "TT"}) {
        for (const Inputs inputs : {Inputs::integers, Inputs::normal}) {
          GemmCell cell = cell_of(m, n, k, type);
          cell.inputs = inputs;
          cell.pad = layout[0] == 'T' ? 3 : 0;
          cell.batch = layout[1] == 'T' ? 2 : 1;
          const GemmProblem problem = problem_of(cell, layout);
          GemmMatrices made = matrices(cell, problem);
          multiply(problem, made.sets().front());
          const Verification result = verify(made, cell, problem);
          EXPECT_TRUE(result.passed) << describe(problem) << ": " << result.detail;
        }
      }
    }
  }
}

TEST_P(Matrix, EpiloguesPass) {
  for (const Epilogue epilogue :
       {Epilogue::bias, Epilogue::relu, Epilogue::relu_bias, Epilogue::gelu, Epilogue::gelu_bias,
        Epilogue::gelu_aux, Epilogue::gelu_aux_bias, Epilogue::dgelu, Epilogue::dgelu_bgrad,
        Epilogue::bgrad_a}) {
    for (const char* layout : {"TN", "NT"}) {
      GemmCell cell = cell_of(37, 53, 65, DataType::bf16);
      cell.epilogue = epilogue;
      const GemmProblem problem = problem_of(cell, layout);
      GemmMatrices made = matrices(cell, problem);
      multiply(problem, made.sets().front());
      const Verification result = verify(made, cell, problem);
      EXPECT_TRUE(result.passed) << name_of(epilogue) << ": " << result.detail;
    }
  }
}

TEST_P(Matrix, PlantedFaultsAreFound) {
  GemmCell cell = cell_of(37, 53, 65, DataType::f32);
  cell.pad = 5;
  const GemmProblem problem = problem_of(cell, "NN");
  GemmMatrices made = matrices(cell, problem);
  const OperandSet& set = made.sets().front();
  multiply(problem, set);
  float* const there = set.d.as<float>();
  const auto d = download<float>(there, set.d.bytes() / sizeof(float));
  const auto ldd = static_cast<std::size_t>(problem.ldd);
  ASSERT_TRUE(verify(made, cell, problem).passed);

  const auto with = [&](std::size_t at, float value) {
    write(there + at, std::vector{value});
    const Verification result = verify(made, cell, problem);
    write(there + at, std::vector{d[at]});
    EXPECT_FALSE(result.passed);
    return result.detail;
  };
  EXPECT_THAT(with(36 * ldd + 52, d[36 * ldd + 52] + 0.01f), HasSubstr("D[36,52]"));
  EXPECT_THAT(with(0, NAN), HasSubstr("D[0,0]"));
  float poison;
  std::memset(&poison, 0xFF, sizeof(poison));
  EXPECT_THAT(with(5 * ldd + 7, poison),
              HasSubstr("1 elements of D were left unwritten, first row 5 "
                        "column 7"));
  EXPECT_THAT(with(9 * ldd + 53, 0), HasSubstr("are padding and were overwritten, first row 9 "
                                               "column 53"));
  EXPECT_TRUE(verify(made, cell, problem).passed);
}

TEST_P(Matrix, AnUnwrittenElementOfALargeMatrixIsFoundWhereNoSampleIs) {
  GemmCell cell = cell_of(700, 900, 1, DataType::i8);
  cell.inputs = Inputs::integers;
  const GemmProblem problem = problem_of(cell, "NN");
  GemmMatrices made = matrices(cell, problem);
  const OperandSet& set = made.sets().front();
  multiply(problem, set);
  const Verification exact = verify(made, cell, problem);
  EXPECT_TRUE(exact.passed) << exact.detail;
  EXPECT_EQ(exact.tolerance, 0);
  EXPECT_THAT(exact.method, HasSubstr("exact"));
  const auto places = gemm_sample_places(problem, 5);
  const std::set<std::array<std::uint64_t, 3>> sampled(places.begin(), places.end());
  std::uint64_t column = 0;
  while (sampled.count({0, 350, column}) > 0) ++column;
  const auto unwritten = static_cast<int>(0x80808080u);
  write(set.d.as<int>() + 350 * 900 + column, std::vector{unwritten});
  EXPECT_THAT(verify(made, cell, problem).detail, HasSubstr("left unwritten, first row 350"));
}

TEST_P(Matrix, UnwrittenElementsOfOneByteAreCounted) {
  auto program = device_->build({"matrix", {}});
  ASSERT_TRUE(program) << program.error().message;
  Kernel& count = **(*program)->kernel("count_unwritten_1");
  constexpr std::uint64_t rows = 9, columns = 40, ld = 48, poison = 0xFF;
  std::vector<unsigned char> bytes(rows * ld, 0xFF);  // the padding holds the poison that it should
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(row * ld), columns, 1);
  }
  bytes[3 * ld + 5] = 0xFF;  // unwritten
  bytes[7 * ld + 44] = 0;    // written into the padding
  const Buffer matrix = upload(bytes), found = allocate(2 * sizeof(std::uint64_t));
  ASSERT_TRUE(launch(*stream_, count, {{1}, {128}}, found.data(), matrix.data(), rows, columns, ld,
                     poison));
  EXPECT_THAT(download<std::uint64_t>(found.data(), 2), testing::ElementsAre(2u, 3 * ld + 5));
}

TEST_P(Matrix, AWrongBiasGradientIsFound) {
  GemmCell cell = cell_of(37, 53, 65, DataType::bf16);
  cell.epilogue = Epilogue::bgrad_a;
  const GemmProblem problem = problem_of(cell, "NT");
  GemmMatrices made = matrices(cell, problem);
  const OperandSet& set = made.sets().front();
  multiply(problem, set);
  HostSet host = on_host(set);
  set_element(host.bias.data(), problem.bias, 36, element(host.bias.data(), problem.bias, 36) + 1);
  write_outputs(set, host);
  EXPECT_THAT(verify(made, cell, problem).detail, HasSubstr("bias gradient 36"));
}

ASSAY_KERNEL_BUILDS(Matrix);

TEST(GemmSamples, CornersAndEdgesAreAmongThem) {
  const GemmProblem problem = make_gemm(8192, 4096, 16, DataType::f32, DataType::f32);
  const auto places = gemm_sample_places(problem, 1);
  EXPECT_GE(places.size(), 4096u);
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  int last_row = 0, last_column = 0;
  for (const auto& [batch, row, column] : places) {
    ASSERT_LT(row, 8192u);
    ASSERT_LT(column, 4096u);
    ASSERT_EQ(batch, 0u);
    seen.insert({row, column});
    last_row += row == 8191;
    last_column += column == 4095;
  }
  for (const std::uint64_t row : {0u, 8191u}) {
    for (const std::uint64_t column : {0u, 4095u}) EXPECT_TRUE(seen.count({row, column}));
  }
  EXPECT_GE(last_row, 128);
  EXPECT_GE(last_column, 128);
}

}  // namespace
}  // namespace assay
