#include "measure/benchmarks/gemm/gemm_operands.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// The matrices of a set, each with its own random numbers.
enum Which : std::uint64_t { which_a, which_b, which_aux, which_bias, which_count };

std::size_t bytes_of(std::int64_t elements, DataType type) {
  return static_cast<std::size_t>(elements) * size_of(type);
}

}  // namespace

GemmOperands OperandSet::pointers() const {
  GemmOperands operands;
  operands.a = a.data();
  operands.b = b.data();
  operands.c = operands.d = d.data();
  operands.bias = bias.data();
  operands.aux = aux.data();
  return operands;
}

Result<GemmMatrices> GemmMatrices::create(Device& device, Stream& stream, const GemmCell& cell,
                                          const std::vector<GemmProblem>& problems,
                                          std::uint64_t seed) {
  GemmMatrices made(device);
  made.program_ = TRY(device.build({"matrix", {}}));
  made.seed_ = seed;
  made.inputs_ = cell.inputs;
  const GemmProblem& first = problems.front();
  std::int64_t a = 0, b = 0;
  for (const GemmProblem& problem : problems) {
    a = std::max(a, problem.elements_a());
    b = std::max(b, problem.elements_b());
  }
  const bool bias = reads_bias(first.epilogue) || writes_bias(first.epilogue);
  const bool aux = reads_aux(first.epilogue) || writes_aux(first.epilogue);
  const auto allocate = [&](std::int64_t elements, DataType type) {
    return device.allocate(bytes_of(elements, type), MemoryKind::device);
  };
  const std::size_t count = operand_sets(cell, first);
  for (std::size_t i = 0; i < count; ++i) {
    OperandSet set;
    set.a = TRY(allocate(a, first.a));
    set.b = TRY(allocate(b, first.b));
    set.d = TRY(allocate(first.elements_d(), first.d));
    if (bias) set.bias = TRY(allocate(std::max(first.m, first.n), first.bias));
    if (aux) set.aux = TRY(allocate(first.m * first.ld_aux, first.aux));
    made.sets_.push_back(std::move(set));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const OperandSet& set = made.sets_[i];
    const std::uint64_t base = i * which_count;
    TRY(made.fill(stream, set.a, first.a, {1, a, a}, base + which_a));
    TRY(made.fill(stream, set.b, first.b, {1, b, b}, base + which_b));
    if (bias) {
      const std::int64_t n = std::max(first.m, first.n);
      TRY(made.fill(stream, set.bias, first.bias, {1, n, n}, base + which_bias));
    }
    if (aux) {
      const std::int64_t n = first.m * first.ld_aux;
      TRY(made.fill(stream, set.aux, first.aux, {1, n, n}, base + which_aux));
    }
  }
  TRY(stream.synchronize());
  return made;
}

Status GemmMatrices::fill(Stream& stream, const Buffer& buffer, DataType type,
                          const MatrixExtent& extent, std::uint64_t which) {
  // A separate seed for each matrix, far from the others.
  const std::uint64_t seed = (seed_ * 1000003 + which) * 0xD1342543DE82EF95ull;
  return fill_matrix(stream, device_.facts(), *program_, buffer.data(), type, extent, inputs_,
                     seed);
}

Status GemmMatrices::fill_rows(Stream& stream, const GemmProblem& p) {
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    const OperandSet& set = sets_[i];
    const std::uint64_t base = i * which_count;
    TRY(stream.fill(set.a.data(), 0xFF, set.a.bytes()));
    TRY(stream.fill(set.b.data(), 0xFF, set.b.bytes()));
    TRY(fill(stream, set.a, p.a,
             {p.batch * (p.transpose_a ? p.k : p.m), p.transpose_a ? p.m : p.k, p.lda},
             base + which_a));
    TRY(fill(stream, set.b, p.b,
             {p.batch * (p.transpose_b ? p.n : p.k), p.transpose_b ? p.k : p.n, p.ldb},
             base + which_b));
    if (set.aux.bytes() > 0 && reads_aux(p.epilogue)) {
      TRY(stream.fill(set.aux.data(), 0xFF, set.aux.bytes()));
      TRY(fill(stream, set.aux, p.aux, {p.m, p.n, p.ld_aux}, base + which_aux));
    }
  }
  return stream.synchronize();
}

Status GemmMatrices::poison(Stream& stream, const GemmProblem& problem, const OperandSet& set) {
  TRY(stream.fill(set.d.data(), poison_of(problem.d), set.d.bytes()));
  if (writes_aux(problem.epilogue)) {
    TRY(stream.fill(set.aux.data(), poison_of(problem.aux), set.aux.bytes()));
  }
  if (writes_bias(problem.epilogue)) {
    TRY(stream.fill(set.bias.data(), poison_of(problem.bias), set.bias.bytes()));
  }
  return {};
}

}  // namespace assay
