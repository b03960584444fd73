#include "measure/benchmarks/gemm/gemm_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compute/device/helpers.h"
#include "core/random.h"
#include "measure/benchmarks/gemm/gemm_tolerance.h"

namespace assay {
namespace {

using Places = std::vector<std::array<std::uint64_t, 3>>;

constexpr std::uint64_t random_samples = 4096;
constexpr std::uint64_t edge_samples = 128;

/// Collects the worst of many comparisons and describes the first failure.
class Comparison {
 public:
  void compare(double got, const Expectation& expected, const std::string& where) {
    ++count_;
    const double difference = std::abs(got - expected.value);
    exact_ = exact_ && expected.tolerance == 0;
    const double scale =
        expected.tolerance > 0 ? expected.tolerance : std::max(std::abs(expected.value), 1.0);
    const double share = difference / scale;
    if (!(share <= worst_)) worst_ = share;
    if (!(difference <= expected.tolerance) && detail_.empty()) {
      detail_ = fmt::format("{} is {}, should be {} +- {}", where, got, expected.value,
                            expected.tolerance);
    }
  }
  void fail(std::string detail) {
    if (detail_.empty()) detail_ = std::move(detail);
  }

  Verification result() const {
    Verification verification;
    verification.passed = detail_.empty();
    verification.method =
        exact_ ? fmt::format("all written; {} elements exact", count_)
               : fmt::format("all written; {} elements against sums in double", count_);
    verification.error = worst_;
    verification.tolerance = exact_ ? 0 : 1;
    verification.detail = detail_;
    return verification;
  }

 private:
  std::size_t count_ = 0;
  double worst_ = 0;
  bool exact_ = true;
  std::string detail_;
};

class Verifier {
 public:
  Verifier(Stream& stream, GemmMatrices& matrices, const GemmProblem& problem,
           const OperandSet& set, Places places)
      : stream_(stream),
        matrices_(matrices),
        problem_(problem),
        set_(set),
        places_(std::move(places)),
        shape_(filling_shape(matrices.device().facts())) {}

  Status upload_places() {
    where_ =
        TRY(matrices_.device().allocate(places_.size() * sizeof(places_[0]), MemoryKind::device));
    TRY(stream_.copy(where_.data(), places_.data(), where_.bytes()));
    return stream_.synchronize();
  }

  /// Checks that every element of the rows x columns was written and that the padding of each row
  /// was not.
  Status check_written(Comparison& comparison, std::string_view name, const Buffer& buffer,
                       DataType type, std::uint64_t rows, std::uint64_t columns, std::uint64_t ld) {
    Kernel* count =
        TRY(matrices_.program().kernel(fmt::format("count_unwritten_{}", size_of(type))));
    const std::size_t entries = 2 * std::size_t{shape_.grid.x};
    const Buffer found =
        TRY(matrices_.device().allocate(entries * sizeof(std::uint64_t), MemoryKind::device));
    const std::uint64_t poison = 0x0101010101010101ull * poison_of(type);
    TRY(launch(stream_, *count, shape_, found.data(), buffer.data(), rows, columns, ld, poison));
    const auto counts = TRY(read_back<std::uint64_t>(stream_, found.data(), entries));
    std::uint64_t wrong = 0, first = rows * ld;
    for (std::size_t block = 0; block < shape_.grid.x; ++block) {
      wrong += counts[2 * block];
      first = std::min(first, counts[2 * block + 1]);
    }
    if (wrong > 0) {
      const bool padding = first % ld >= columns;
      comparison.fail(
          fmt::format("{} elements of {} {}, first row {} column {}", wrong, name,
                      padding ? "are padding and were overwritten" : "were left unwritten",
                      first / ld, first % ld));
    }
    return {};
  }

  Status check_elements(Comparison& comparison, bool exact) {
    const std::vector<double> sums = TRY(sample_sums());
    const std::vector<double> d = TRY(gather(set_.d, problem_.d, problem_.ldd, problem_.stride_d));
    const Epilogue epilogue = problem_.epilogue;
    std::vector<double> aux, bias;
    if (reads_aux(epilogue) || writes_aux(epilogue)) {
      aux = TRY(gather(set_.aux, problem_.aux, problem_.ld_aux, 0));
    }
    if (reads_bias(epilogue)) bias = TRY(lines(set_.bias, problem_.bias, problem_.n, 1, 1, 1));
    for (std::size_t i = 0; i < places_.size(); ++i) {
      GemmSample sample{sums[2 * i], sums[2 * i + 1]};
      if (reads_bias(epilogue)) sample.bias = bias[2 * places_[i][2]];
      if (reads_aux(epilogue)) sample.aux = aux[i];
      comparison.compare(d[i], expected_d(problem_, sample, exact), place("D", i));
      if (writes_aux(epilogue)) {
        comparison.compare(aux[i], expected_aux(problem_, sample), place("aux", i));
      }
    }
    return {};
  }

  /// Checks every element of a bias gradient.
  Status check_bias_gradient(Comparison& comparison) {
    const GemmProblem& p = problem_;
    const std::int64_t count = p.bias_elements();
    std::int64_t terms = p.k;
    double term_roundoff = 0;
    std::vector<double> sums;
    switch (p.epilogue) {
      case Epilogue::bgrad_a:
        sums = TRY(
            lines(set_.a, p.a, count, p.transpose_a ? 1 : p.lda, p.k, p.transpose_a ? p.lda : 1));
        break;
      case Epilogue::bgrad_b:
        sums = TRY(
            lines(set_.b, p.b, count, p.transpose_b ? p.ldb : 1, p.k, p.transpose_b ? 1 : p.ldb));
        break;
      default:  // dgelu_bgrad sums the columns of D before rounding
        sums = TRY(lines(set_.d, p.d, count, 1, p.m, p.ldd));
        terms = p.m;
        term_roundoff = unit_roundoff(p.d);
    }
    const std::vector<double> got = TRY(lines(set_.bias, p.bias, count, 1, 1, 1));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(2 * i);
      comparison.compare(got[at],
                         expected_bias_gradient(p, sums[at], sums[at + 1], terms, term_roundoff),
                         fmt::format("bias gradient {}", i));
    }
    return {};
  }

 private:
  std::string place(std::string_view name, std::size_t i) const {
    const auto& [batch, row, column] = places_[i];
    return problem_.batch > 1 ? fmt::format("{}[{},{},{}]", name, batch, row, column)
                              : fmt::format("{}[{},{}]", name, row, column);
  }

  Result<Buffer> doubles(std::size_t count) {
    return matrices_.device().allocate(count * sizeof(double), MemoryKind::device);
  }
  static std::uint64_t u(std::int64_t value) { return static_cast<std::uint64_t>(value); }

  Result<std::vector<double>> sample_sums() {
    const GemmProblem& p = problem_;
    Kernel* kernel = TRY(matrices_.program().kernel("sample_products"));
    const Buffer out = TRY(doubles(2 * places_.size()));
    TRY(launch(stream_, *kernel, shape_, out.data(), where_.data(),
               static_cast<std::uint64_t>(places_.size()), set_.a.data(), static_cast<int>(p.a),
               u(p.transpose_a ? 1 : p.lda), u(p.transpose_a ? p.lda : 1), u(p.stride_a),
               set_.b.data(), static_cast<int>(p.b), u(p.transpose_b ? p.ldb : 1),
               u(p.transpose_b ? 1 : p.ldb), u(p.stride_b), u(p.k)));
    return read_back<double>(stream_, out.data(), 2 * places_.size());
  }

  Result<std::vector<double>> gather(const Buffer& buffer, DataType type, std::int64_t ld,
                                     std::int64_t batch_stride) {
    Kernel* kernel = TRY(matrices_.program().kernel("gather_elements"));
    const Buffer out = TRY(doubles(places_.size()));
    TRY(launch(stream_, *kernel, shape_, out.data(), where_.data(),
               static_cast<std::uint64_t>(places_.size()), buffer.data(), static_cast<int>(type),
               u(ld), u(batch_stride)));
    return read_back<double>(stream_, out.data(), places_.size());
  }

  /// The sums and sums of squares of `count` rows or columns of `terms` elements each.
  Result<std::vector<double>> lines(const Buffer& buffer, DataType type, std::int64_t count,
                                    std::int64_t line_stride, std::int64_t terms,
                                    std::int64_t stride) {
    Kernel* kernel = TRY(matrices_.program().kernel("sum_lines"));
    const auto entries = static_cast<std::size_t>(2 * count);
    const Buffer out = TRY(doubles(entries));
    TRY(launch(stream_, *kernel, shape_, out.data(), buffer.data(), static_cast<int>(type),
               u(count), u(line_stride), u(terms), u(stride)));
    return read_back<double>(stream_, out.data(), entries);
  }

  Stream& stream_;
  GemmMatrices& matrices_;
  const GemmProblem& problem_;
  const OperandSet& set_;
  Places places_;
  LaunchShape shape_;
  Buffer where_;
};

}  // namespace

std::vector<std::array<std::uint64_t, 3>> gemm_sample_places(const GemmProblem& problem,
                                                             std::uint64_t seed) {
  const auto m = static_cast<std::uint64_t>(problem.m), n = static_cast<std::uint64_t>(problem.n);
  const auto batch = static_cast<std::uint64_t>(problem.batch);
  Places places;
  if (m * n * batch <= random_samples) {
    for (std::uint64_t i = 0; i < m * n * batch; ++i) {
      places.push_back({i / (m * n), i / n % m, i % n});
    }
    return places;
  }
  for (const std::uint64_t matrix : {std::uint64_t{0}, batch - 1}) {
    for (const std::uint64_t row : {std::uint64_t{0}, m - 1}) {
      for (const std::uint64_t column : {std::uint64_t{0}, n - 1}) {
        places.push_back({matrix, row, column});
      }
    }
  }
  Random random(seed);
  for (std::uint64_t i = 0; i < edge_samples; ++i) {
    places.push_back({random.next() % batch, m - 1, random.next() % n});
    places.push_back({random.next() % batch, random.next() % m, n - 1});
  }
  for (std::uint64_t i = 0; i < random_samples; ++i) {
    const std::uint64_t matrix = random.next() % batch, row = random.next() % m;
    places.push_back({matrix, row, random.next() % n});
  }
  return places;
}

Result<Verification> verify_gemm(Stream& stream, GemmMatrices& matrices, const GemmProblem& p,
                                 const OperandSet& set, double largest, std::uint64_t seed) {
  Verifier verifier(stream, matrices, p, set, gemm_sample_places(p, seed));
  TRY(verifier.upload_places());
  Comparison comparison;
  const auto n = static_cast<std::uint64_t>(p.n);
  TRY(verifier.check_written(comparison, "D", set.d, p.d, static_cast<std::uint64_t>(p.batch * p.m),
                             n, static_cast<std::uint64_t>(p.ldd)));
  if (writes_aux(p.epilogue)) {
    TRY(verifier.check_written(comparison, "aux", set.aux, p.aux, static_cast<std::uint64_t>(p.m),
                               n, static_cast<std::uint64_t>(p.ld_aux)));
  }
  TRY(verifier.check_elements(comparison, is_exact(p, largest)));
  if (writes_bias(p.epilogue)) TRY(verifier.check_bias_gradient(comparison));
  return comparison.result();
}

}  // namespace assay
