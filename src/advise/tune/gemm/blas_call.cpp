#include "advise/tune/gemm/blas_call.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace assay {
namespace {

struct BenchType {
  DataType type;
  std::string_view name;
  std::string_view letter;  // the name in rocBLAS
};
constexpr std::array<BenchType, 10> bench_types = {{
    {DataType::f64, "f64_r", "d"},
    {DataType::f32, "f32_r", "s"},
    {DataType::f16, "f16_r", "h"},
    {DataType::bf16, "bf16_r", "b"},
    {DataType::e4m3, "f8_r", ""},
    {DataType::e5m2, "bf8_r", ""},
    {DataType::e4m3_fnuz, "f8_fnuz_r", ""},
    {DataType::e5m2_fnuz, "bf8_fnuz_r", ""},
    {DataType::i8, "i8_r", ""},
    {DataType::i32, "i32_r", ""},
}};

std::int64_t or_dense(std::int64_t given, std::int64_t dense) {
  return given > 0 ? given : dense;
}

Error cannot(std::string reason) {
  return {ErrorKind::unsupported, std::move(reason)};
}

}  // namespace

BlasCall call_of(const GemmProblem& p) {
  BlasCall call;
  call.transpose_a = p.transpose_b;
  call.transpose_b = p.transpose_a;
  call.m = p.n;
  call.n = p.m;
  call.k = p.k;
  call.batch = p.batch;
  call.lda = p.ldb;
  call.ldb = p.lda;
  call.ldc = call.ldd = p.ldd;
  if (p.batch > 1) {
    call.stride_a = p.stride_b;
    call.stride_b = p.stride_a;
    call.stride_d = p.stride_d;
  }
  call.a = p.b;
  call.b = p.a;
  call.c = p.c;
  call.d = p.d;
  call.compute = p.compute;
  call.alpha = p.alpha;
  call.beta = p.beta;
  call.epilogue = p.epilogue;
  call.bias = p.bias;
  call.aux = p.aux;
  call.lde = reads_aux(p.epilogue) || writes_aux(p.epilogue) ? p.ld_aux : 0;
  call.scale_a = p.scales_b ? BlasCall::Scale::tensor : BlasCall::Scale::none;
  call.scale_b = p.scales_a ? BlasCall::Scale::tensor : BlasCall::Scale::none;
  call.scale_d = p.scales_d;
  call.amax_d = p.writes_amax_d;
  return call;
}

Result<GemmProblem> problem_of(const BlasCall& call) {
  if (call.scale_a == BlasCall::Scale::rows || call.scale_b == BlasCall::Scale::rows) {
    return cannot("a factor for each row: assay's products have one for each operand");
  }
  if (call.beta != 0 && or_dense(call.ldc, call.m) != or_dense(call.ldd, call.m)) {
    return cannot("C and D differ in their leading dimension");
  }
  if (call.m < 1 || call.n < 1 || call.k < 1 || call.batch < 1) {
    return Error{ErrorKind::usage, "an extent is below 1"};
  }
  // With these limits no product of two extents overflows; no device can hold such a matrix.
  constexpr std::int64_t most_extent = std::int64_t{1} << 31, most_batch = std::int64_t{1} << 20,
                         most_stride = std::int64_t{1} << 40;
  for (const std::int64_t value :
       {call.m, call.n, call.k, call.lda, call.ldb, call.ldc, call.ldd, call.lde}) {
    if (value > most_extent) return Error{ErrorKind::usage, "an extent is above 2^31"};
  }
  if (call.batch > most_batch) return Error{ErrorKind::usage, "the batch is above 2^20"};
  for (const std::int64_t stride : {call.stride_a, call.stride_b, call.stride_d}) {
    if (stride > most_stride) return Error{ErrorKind::usage, "a batch's stride is above 2^40"};
  }
  GemmProblem p = make_gemm(call.n, call.m, call.k, call.b, call.d, call.transpose_b,
                            call.transpose_a, call.batch);
  p.a = call.b;
  p.b = call.a;
  p.c = call.c;
  p.d = call.d;
  p.compute = call.compute;
  if (call.compute == DataType::tf32) p.a = p.b = DataType::tf32;  // stored as f32
  p.lda = or_dense(call.ldb, p.lda);
  p.ldb = or_dense(call.lda, p.ldb);
  p.ldd = or_dense(call.ldd, p.ldd);
  p.stride_a = (p.transpose_a ? p.k : p.m) * p.lda;
  p.stride_b = (p.transpose_b ? p.n : p.k) * p.ldb;
  p.stride_d = p.m * p.ldd;
  if (call.batch > 1) {
    p.stride_a = or_dense(call.stride_b, p.stride_a);
    p.stride_b = or_dense(call.stride_a, p.stride_b);
    p.stride_d = or_dense(call.stride_d, p.stride_d);
  }
  p.alpha = call.alpha;
  p.beta = call.beta;
  p.epilogue = call.epilogue;
  // Unused fields keep the values of make_gemm(), so that equal GEMMs compare equal.
  if (reads_bias(p.epilogue) || writes_bias(p.epilogue)) p.bias = call.bias;
  if (reads_aux(p.epilogue) || writes_aux(p.epilogue)) {
    p.aux = call.aux;
    p.ld_aux = or_dense(call.lde, p.ldd);
  }
  p.scales_a = call.scale_b == BlasCall::Scale::tensor;
  p.scales_b = call.scale_a == BlasCall::Scale::tensor;
  p.scales_d = call.scale_d;
  p.writes_amax_d = call.amax_d;
  TRY(validate(p));
  constexpr std::int64_t most_elements = std::int64_t{1} << 48;
  if (std::max({p.elements_a(), p.elements_b(), p.elements_d()}) > most_elements) {
    return Error{ErrorKind::usage, "a matrix has more than 2^48 elements"};
  }
  return p;
}

std::string_view bench_name(DataType type) {
  const DataType stored = type == DataType::tf32 ? DataType::f32 : type;
  for (const BenchType& known : bench_types) {
    if (known.type == stored) return known.name;
  }
  return {};
}

std::optional<DataType> parse_bench_type(std::string_view name) {
  for (const BenchType& known : bench_types) {
    if (name == known.name || (!known.letter.empty() && name == known.letter)) return known.type;
  }
  return std::nullopt;
}

std::string_view bench_compute_name(DataType compute) {
  return compute == DataType::tf32 ? "xf32_r" : bench_name(compute);
}

std::optional<DataType> parse_bench_compute(std::string_view name) {
  if (name == "xf32_r") return DataType::tf32;
  const auto type = parse_bench_type(name);
  if (type == DataType::f32 || type == DataType::f64 || type == DataType::i32) return type;
  return std::nullopt;
}

}  // namespace assay
