#include "compute/vendor/blas/gemm_problem.h"

#include <fmt/format.h>

#include <array>

namespace assay {
namespace {

struct EpilogueTraits {
  std::string_view name;
  bool reads_bias, writes_bias, reads_aux, writes_aux;
};

constexpr std::array<EpilogueTraits, 12> traits = {{
    {"none", false, false, false, false},
    {"bias", true, false, false, false},
    {"relu", false, false, false, false},
    {"relu_bias", true, false, false, false},
    {"gelu", false, false, false, false},
    {"gelu_bias", true, false, false, false},
    {"gelu_aux", false, false, false, true},
    {"gelu_aux_bias", true, false, false, true},
    {"dgelu", false, false, true, false},
    {"dgelu_bgrad", false, true, true, false},
    {"bgrad_a", false, true, false, false},
    {"bgrad_b", false, true, false, false},
}};

const EpilogueTraits& traits_of(Epilogue epilogue) {
  return traits[static_cast<std::size_t>(epilogue)];
}

DataType compute_for(DataType in) {
  switch (in) {
    case DataType::f64:
      return DataType::f64;
    case DataType::tf32:
      return DataType::tf32;
    case DataType::i8:
      return DataType::i32;
    default:
      return DataType::f32;
  }
}

Error misfit(std::string message) {
  return {ErrorKind::usage, "gemm: " + std::move(message)};
}

Status check_matrix(std::string_view name, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                    std::int64_t batch, std::int64_t stride) {
  if (ld < columns) {
    return misfit(fmt::format("leading dimension {} of {} is shorter than its rows of {}", ld, name,
                              columns));
  }
  // Matrices may lie one after the other, or side by side in common rows, like the heads of an
  // attention.
  const bool apart = stride >= (rows - 1) * ld + columns;
  const bool side_by_side = stride >= columns && (batch - 1) * stride + columns <= ld;
  if (batch > 1 && stride != 0 && !apart && !side_by_side) {
    return misfit(fmt::format("batch stride {} of {} lets its matrices of {}x{} overlap", stride,
                              name, rows, columns));
  }
  return {};
}

}  // namespace

bool reads_bias(Epilogue epilogue) {
  return traits_of(epilogue).reads_bias;
}
bool writes_bias(Epilogue epilogue) {
  return traits_of(epilogue).writes_bias;
}
bool reads_aux(Epilogue epilogue) {
  return traits_of(epilogue).reads_aux;
}
bool writes_aux(Epilogue epilogue) {
  return traits_of(epilogue).writes_aux;
}
std::string_view name_of(Epilogue epilogue) {
  return traits_of(epilogue).name;
}

double GemmProblem::bytes() const {
  const double elements_out = double(m) * double(n) * double(batch);
  return double(m) * double(k) * double(batch) * double(size_of(a)) +
         double(k) * double(n) * double(batch) * double(size_of(b)) +
         elements_out * double(size_of(d)) + (beta != 0 ? elements_out * double(size_of(c)) : 0);
}

GemmProblem make_gemm(std::int64_t m, std::int64_t n, std::int64_t k, DataType in, DataType out,
                      bool transpose_a, bool transpose_b, std::int64_t batch, std::int64_t pad) {
  GemmProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.batch = batch;
  problem.transpose_a = transpose_a;
  problem.transpose_b = transpose_b;
  problem.a = problem.b = in;
  problem.c = problem.d = problem.bias = problem.aux = out;
  problem.compute = compute_for(in);
  problem.lda = (transpose_a ? m : k) + pad;
  problem.ldb = (transpose_b ? k : n) + pad;
  problem.ldd = problem.ld_aux = n + pad;
  problem.stride_a = (transpose_a ? k : m) * problem.lda;
  problem.stride_b = (transpose_b ? n : k) * problem.ldb;
  problem.stride_d = m * problem.ldd;
  return problem;
}

Status validate(const GemmProblem& p) {
  if (p.m < 1 || p.n < 1 || p.k < 1 || p.batch < 1) {
    return misfit(
        fmt::format("m={} n={} k={} batch={}: each must be at least 1", p.m, p.n, p.k, p.batch));
  }
  TRY(check_matrix("A", p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, p.lda, p.batch,
                   p.stride_a));
  TRY(check_matrix("B", p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, p.ldb, p.batch,
                   p.stride_b));
  TRY(check_matrix("D", p.m, p.n, p.ldd, p.batch, p.stride_d));
  if (p.batch > 1 && p.stride_d == 0)
    return misfit("all matrices D of the batch are the same matrix");
  if (reads_aux(p.epilogue) || writes_aux(p.epilogue)) {
    TRY(check_matrix("aux", p.m, p.n, p.ld_aux, 1, 0));
  }
  if (p.batch > 1 && p.epilogue != Epilogue::none) {
    return misfit(fmt::format("epilogue {} with batch {}: epilogues take one matrix",
                              name_of(p.epilogue), p.batch));
  }
  if (p.compute != compute_for(p.a) || p.compute != compute_for(p.b)) {
    return misfit(fmt::format("{} * {} cannot be accumulated in {}", name_of(p.a), name_of(p.b),
                              name_of(p.compute)));
  }
  if ((p.compute == DataType::i32) != (p.d == DataType::i32)) {
    return misfit(
        fmt::format("{} accumulation cannot give {} results", name_of(p.compute), name_of(p.d)));
  }
  return {};
}

std::string describe(const GemmProblem& p) {
  std::string text = fmt::format("m={} n={} k={}{} {}*{}->{} {}", p.m, p.n, p.k,
                                 p.batch > 1 ? fmt::format(" batch={}", p.batch) : "", name_of(p.a),
                                 name_of(p.b), name_of(p.d), layout_of(p));
  if (p.epilogue != Epilogue::none) text += fmt::format(" {}", name_of(p.epilogue));
  if (p.scales_lines) text += " scaled by rows and columns";
  return text;
}

std::string_view layout_of(const GemmProblem& problem) {
  if (problem.transpose_b) return problem.transpose_a ? "TT" : "TN";
  return problem.transpose_a ? "NT" : "NN";
}

}  // namespace assay
