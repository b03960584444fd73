#include "measure/benchmarks/gemm/gemm_tolerance.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace assay {
namespace {

bool is_fp8(const GemmProblem& problem) {
  return size_of(problem.a) == 1 && problem.a != DataType::i8;
}

int significand_bits(DataType type) {
  switch (type) {
    case DataType::f64:
      return 53;
    case DataType::f32:
      return 24;
    case DataType::tf32:
    case DataType::f16:
      return 11;
    case DataType::bf16:
      return 8;
    case DataType::e4m3:
    case DataType::e4m3_fnuz:
      return 4;
    case DataType::e5m2:
    case DataType::e5m2_fnuz:
      return 3;
    case DataType::i8:
      return 8;
    case DataType::i32:
      return 31;
    default:
      return 0;
  }
}

/// Half of the smallest step near zero, for types whose exponent range a product can leave.
double least_step(DataType type) {
  switch (type) {
    case DataType::f16:
      return std::ldexp(1, -25);
    case DataType::e4m3:
      return std::ldexp(1, -10);
    case DataType::e4m3_fnuz:
      return std::ldexp(1, -11);
    case DataType::e5m2:
      return std::ldexp(1, -17);
    case DataType::e5m2_fnuz:
      return std::ldexp(1, -18);
    default:
      return 0;
  }
}

/// The number of bits up to which the accumulator sums integers exactly.
int accumulator_bits(const GemmProblem& problem) {
  if (is_fp8(problem)) return 13;
  if (problem.compute == DataType::i32) return 31;
  return problem.compute == DataType::f64 ? 53 : 24;
}

double accumulation_error(const GemmProblem& problem, double sum, double squares, double terms) {
  const double size = std::abs(sum) + 2 * std::sqrt(squares);
  if (problem.compute == DataType::i32) return 0;
  if (is_fp8(problem)) return std::max(8.0, terms / 32) * std::ldexp(size, -13);
  const double steps = std::max(8 * std::sqrt(terms), terms / 16);
  const double roundoff =
      problem.compute == DataType::f64 ? std::ldexp(1, -53) : std::ldexp(1, -24);
  double error = steps * 2 * roundoff * size;
  if (problem.compute == DataType::tf32) error += std::ldexp(size, -9);
  return error;
}

double storing_error(DataType type, double value) {
  return unit_roundoff(type) * std::abs(value) * 1.01 + least_step(type);
}

/// The value before the activation, alpha x + bias, and its error.
Expectation before_activation(const GemmProblem& problem, const GemmSample& sample) {
  const double bias = reads_bias(problem.epilogue) ? sample.bias : 0;
  const double product = problem.alpha * sample.sum;
  const double error =
      std::abs(problem.alpha) *
      accumulation_error(problem, sample.sum, sample.squares, static_cast<double>(problem.k));
  // Adding the bias rounds once more in the compute type.
  const double roundoff =
      unit_roundoff(problem.compute == DataType::tf32 ? DataType::f32 : problem.compute);
  return {product + bias, error + 2 * roundoff * (std::abs(product) + std::abs(bias))};
}

}  // namespace

double gelu(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

double gelu_derivative(double x) {
  const double factor = std::sqrt(2 / std::numbers::pi);
  const double t = std::tanh(factor * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * factor * (1 + 3 * 0.044715 * x * x);
}

double unit_roundoff(DataType type) {
  if (type == DataType::i8 || type == DataType::i32) return 0;
  return std::ldexp(1, -significand_bits(type));
}

double round_to(DataType type, double x) {
  if (x == 0 || !std::isfinite(x) || type == DataType::i8 || type == DataType::i32) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int shift = significand_bits(type) - exponent;
  return std::ldexp(std::nearbyint(std::ldexp(x, shift)), -shift);
}

bool is_exact(const GemmProblem& problem, double largest) {
  switch (problem.epilogue) {
    case Epilogue::none:
    case Epilogue::bias:
    case Epilogue::relu:
    case Epilogue::relu_bias:
    case Epilogue::bgrad_a:
    case Epilogue::bgrad_b:
      break;
    default:
      return false;
  }
  const double most = static_cast<double>(problem.k) * largest * largest + largest;
  return most <= std::ldexp(1, accumulator_bits(problem));
}

Expectation expected_d(const GemmProblem& problem, const GemmSample& sample, bool exact) {
  const Expectation x = before_activation(problem, sample);
  double value = x.value, error = x.tolerance;
  switch (problem.epilogue) {
    case Epilogue::relu:
    case Epilogue::relu_bias:
      value = std::max(value, 0.0);
      break;
    case Epilogue::gelu:
    case Epilogue::gelu_bias:
    case Epilogue::gelu_aux:
    case Epilogue::gelu_aux_bias:
      value = gelu(x.value);
      // The slope of GELU stays below 1.13, and the error of tanh is multiplied by x / 2.
      error = 1.13 * x.tolerance + std::ldexp(std::abs(x.value), -12);
      break;
    case Epilogue::dgelu:
    case Epilogue::dgelu_bgrad:
      value = x.value * gelu_derivative(sample.aux);
      // The derivative of GELU stays below 1.13 and magnifies the error of tanh at most tenfold.
      error = 1.13 * x.tolerance + std::ldexp(std::abs(x.value), -7);
      break;
    default:
      break;
  }
  if (exact) return {round_to(problem.d, value), 0};
  return {value, error + storing_error(problem.d, value)};
}

Expectation expected_aux(const GemmProblem& problem, const GemmSample& sample) {
  const Expectation x = before_activation(problem, sample);
  return {x.value, x.tolerance + storing_error(problem.aux, x.value)};
}

Expectation expected_bias_gradient(const GemmProblem& problem, double sum, double squares,
                                   std::int64_t terms, double term_roundoff) {
  const double size = std::abs(sum) + 2 * std::sqrt(squares);
  const double steps =
      std::max(8 * std::sqrt(static_cast<double>(terms)), static_cast<double>(terms) / 16);
  return {sum, steps * std::ldexp(size, -23) + 4 * term_roundoff * size +
                   storing_error(problem.bias, sum)};
}

}  // namespace assay
