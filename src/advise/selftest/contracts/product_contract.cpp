#include "advise/selftest/contracts/product_contract.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "advise/selftest/expect.h"
#include "compute/device/helpers.h"
#include "compute/stored_elements.h"
#include "core/random.h"
#include "measure/benchmarks/gemm/gemm_operands.h"
#include "measure/benchmarks/gemm/gemm_tolerance.h"

namespace assay::selftest {
namespace {

/// Elements are whole numbers of this magnitude at most, of quarters unless the type is an integer:
/// every type holds them, and sums of their products are exact.
constexpr int largest_element = 4;

/// An operand in host memory, and its place on the device.
class Operand {
 public:
  static Result<Operand> create(Device& device, DataType type, std::int64_t elements) {
    const auto count = static_cast<std::size_t>(elements);
    return Operand(type, count, TRY(device.allocate(count * size_of(type), MemoryKind::device)));
  }
  Status fill(Stream& stream, std::uint64_t seed) {
    Random random(seed);
    const double unit = type_ == DataType::i8 || type_ == DataType::i32 ? 1 : 0.25;
    for (std::size_t i = 0; i < count_; ++i) {
      const auto drawn = static_cast<int>(random.next() % (2 * largest_element + 1));
      store_element(type_, &memory_[i * size_of(type_)], unit * (drawn - largest_element));
    }
    TRY(stream.copy(device_.data(), memory_.data(), memory_.size()));
    return stream.synchronize();
  }
  /// Fills it with bytes that no result has.
  Status poison(Stream& stream) {
    return stream.fill(device_.data(), poison_of(type_), device_.bytes());
  }
  Status read(Stream& stream) {
    memory_ = TRY(read_back<std::byte>(stream, device_.data(), memory_.size()));
    return {};
  }
  double at(std::int64_t i) const {
    return load_element(type_, &memory_[static_cast<std::size_t>(i) * size_of(type_)]);
  }
  void* data() const { return device_.data(); }

 private:
  Operand(DataType type, std::size_t count, Buffer device)
      : type_(type), count_(count), memory_(count * size_of(type)), device_(std::move(device)) {}

  DataType type_;
  std::size_t count_;
  std::vector<std::byte> memory_;
  Buffer device_;
};

Status compare(std::string_view what, std::int64_t row, std::int64_t column, double found,
               const Expectation& expected) {
  if (std::abs(found - expected.value) <= expected.tolerance) return {};
  return wrong(fmt::format("{}[{},{}] is {:g}, expected {:g} +- {:g}", what, row, column, found,
                           expected.value, expected.tolerance));
}

/// The operands of one product without batches, and its definition.
class Product {
 public:
  static Result<Product> create(Device& device, const GemmProblem& p) {
    const auto operand = [&](DataType type, std::int64_t elements) {
      return Operand::create(device, type, elements);
    };
    return Product(p, TRY(operand(p.a, p.elements_a())), TRY(operand(p.b, p.elements_b())),
                   TRY(operand(p.c, p.elements_d())), TRY(operand(p.d, p.elements_d())),
                   TRY(operand(p.bias, std::max(p.m, p.n))), TRY(operand(p.aux, p.m * p.ld_aux)));
  }

  Status fill(Stream& stream) {
    std::uint64_t seed = 1;
    for (Operand* operand : {&a_, &b_, &c_, &bias_, &aux_}) TRY(operand->fill(stream, seed++));
    TRY(d_.poison(stream));
    if (writes_aux(p_.epilogue)) TRY(aux_.poison(stream));
    if (writes_bias(p_.epilogue)) TRY(bias_.poison(stream));
    // In place, as every library can; the same type is then the one of C and D.
    if (p_.c == p_.d) TRY(stream.copy(d_.data(), c_.data(), p_.elements_d() * size_of(p_.d)));
    return {};
  }
  GemmOperands operands() const {
    GemmOperands all;
    all.a = a_.data();
    all.b = b_.data();
    all.c = p_.c == p_.d ? d_.data() : c_.data();
    all.d = d_.data();
    all.bias = reads_bias(p_.epilogue) || writes_bias(p_.epilogue) ? bias_.data() : nullptr;
    all.aux = reads_aux(p_.epilogue) || writes_aux(p_.epilogue) ? aux_.data() : nullptr;
    return all;
  }
  Status check(Stream& stream) {
    TRY(d_.read(stream));
    if (writes_aux(p_.epilogue)) TRY(aux_.read(stream));
    if (writes_bias(p_.epilogue)) TRY(bias_.read(stream));
    const bool exact = is_exact(p_, largest_element);
    for (std::int64_t i = 0; i < p_.m; ++i) {
      for (std::int64_t j = 0; j < p_.n; ++j) {
        const GemmSample sample = sample_of(i, j);
        TRY(compare("D", i, j, d_.at(i * p_.ldd + j), expected_d(p_, sample, exact)));
        if (!writes_aux(p_.epilogue)) continue;
        TRY(compare("aux", i, j, aux_.at(i * p_.ld_aux + j), expected_aux(p_, sample)));
      }
    }
    return writes_bias(p_.epilogue) ? check_bias_gradient() : Status();
  }

 private:
  Product(const GemmProblem& problem, Operand a, Operand b, Operand c, Operand d, Operand bias,
          Operand aux)
      : p_(problem),
        a_(std::move(a)),
        b_(std::move(b)),
        c_(std::move(c)),
        d_(std::move(d)),
        bias_(std::move(bias)),
        aux_(std::move(aux)) {}

  double a(std::int64_t i, std::int64_t k) const {
    return a_.at(p_.transpose_a ? k * p_.lda + i : i * p_.lda + k);
  }
  double b(std::int64_t k, std::int64_t j) const {
    return b_.at(p_.transpose_b ? j * p_.ldb + k : k * p_.ldb + j);
  }
  GemmSample sample_of(std::int64_t i, std::int64_t j) const {
    GemmSample sample;
    const auto add = [&](double term) {
      sample.sum += term;
      sample.squares += term * term;
    };
    for (std::int64_t k = 0; k < p_.k; ++k) add(a(i, k) * b(k, j));
    if (p_.beta != 0) add(p_.beta / p_.alpha * c_.at(i * p_.ldd + j));
    if (reads_bias(p_.epilogue)) sample.bias = bias_.at(j);
    if (reads_aux(p_.epilogue)) sample.aux = aux_.at(i * p_.ld_aux + j);
    return sample;
  }
  Status check_bias_gradient() const {
    for (std::int64_t i = 0; i < p_.bias_elements(); ++i) {
      // Sums of D are taken before it is rounded; what is at hand is rounded.
      const bool of_d = p_.epilogue == Epilogue::dgelu_bgrad;
      const std::int64_t terms = of_d ? p_.m : p_.k;
      double sum = 0, squares = 0;
      for (std::int64_t t = 0; t < terms; ++t) {
        const double x = of_d                               ? d_.at(t * p_.ldd + i)
                         : p_.epilogue == Epilogue::bgrad_a ? a(i, t)
                                                            : b(t, i);
        sum += x;
        squares += x * x;
      }
      TRY(compare("bias gradient", i, 0, bias_.at(i),
                  expected_bias_gradient(p_, sum, squares, terms, of_d ? unit_roundoff(p_.d) : 0)));
    }
    return {};
  }

  GemmProblem p_;
  Operand a_, b_, c_, d_, bias_, aux_;
};

}  // namespace

Status check_product(Device& device, Stream& stream, Blas& library, const GemmProblem& problem) {
  constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
  const auto algorithms = library.algorithms(problem, workspace_bytes, 1);
  if (!algorithms.ok()) return Error{ErrorKind::unsupported, algorithms.error().message};
  const GemmAlgorithm& first = algorithms.value().at(0);
  const auto planned = library.plan(problem, first);
  if (!planned.ok()) return Error{ErrorKind::unsupported, planned.error().message};
  GemmPlan& plan = **planned;
  const Buffer workspace =
      TRY(device.allocate(std::max<std::size_t>(first.workspace_bytes, 256), MemoryKind::device));
  Product product = TRY(Product::create(device, problem));
  TRY(product.fill(stream));
  const GemmOperands operands = product.operands();
  TRY(plan.pack(stream, operands.b));
  TRY(plan.enqueue(stream, operands, {workspace.data(), workspace.bytes()}));
  return product.check(stream);
}

}  // namespace assay::selftest
