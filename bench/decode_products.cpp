// How fast products of a vector and of few rows read the matrices of a decoder, in their variants:
// a line for each shape and variant, with the share of what a copy within the device moves in the
// same run. Beside those of few rows stands the matrix library's. Run:
// build/bench/bench_decode_products [MODEL]; default llama3-8b, on the default device, or what
// ASSAY_BENCH_DEVICE names.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "compute/device/backend.h"
#include "compute/device/helpers.h"
#include "compute/device/matrix_unit_types.h"
#include "compute/device/rtc_worker.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "measure/benchmarks/decode/decoder_case.h"
#include "model/operations/linear_products.h"
#include "model/operations/skinny_product.h"
#include "model/operations/vector_product.h"
#include "model/tensors/weights.h"
#include "model/transformer/named_shapes.h"
#include "statistics/summary.h"

namespace assay {
namespace {

constexpr int rounds = 15;

/// A product of a layer or of the head, as a pass of one token computes it.
struct Product {
  const char* name;
  std::int64_t outputs, inputs;
  bool normed, swiglu;

  std::int64_t rows() const { return swiglu ? 2 * outputs : outputs; }
};

std::vector<Product> products_of(const TransformerShape& s) {
  return {{"qkv", s.qkv_width(), s.width, true, false},
          {"proj", s.width, s.query_width(), false, false},
          {"gate_up", s.hidden, s.width, true, true},
          {"down", s.width, s.hidden, false, false},
          {"head", s.vocabulary, s.width, true, false}};
}

struct Bench {
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Event> start, stop;
  Buffer matrices, vectors;
  double copied = 0;  ///< bytes per second, read and written

  /// The median time of a replayed graph of what `queue` queues.
  template <typename Queue>
  Result<double> seconds_of(const Queue& queue) {
    TRY(queue());  // loads code
    TRY(stream->synchronize());
    const std::unique_ptr<Graph> graph = TRY(captured(*stream, queue));
    std::vector<double> seconds;
    for (int i = -3; i < rounds; ++i) {
      TRY(stream->record(*start));
      TRY(stream->launch(*graph));
      TRY(stream->record(*stop));
      TRY(stream->synchronize());
      if (i >= 0) seconds.push_back(TRY(stop->seconds_since(*start)));
    }
    return median(seconds);
  }
};

Result<Bench> open() {
  auto backends = make_backends();
  const char* const choice = std::getenv("ASSAY_BENCH_DEVICE");
  Bench b;
  b.device = TRY(open_device(backends, choice == nullptr ? "" : choice));
  b.stream = TRY(b.device->create_stream());
  b.start = TRY(b.device->create_event());
  b.stop = TRY(b.device->create_event());
  return b;
}

/// What a chain of a product works on: as many matrices as no cache holds, one after another, and
/// vectors of any content.
class Chain {
 public:
  Chain(const Bench& b, const Product& product, std::optional<DataType> codes)
      : b_(&b),
        matrix_bytes_(static_cast<std::size_t>(product.rows() * product.inputs) *
                      (codes ? 1 : size_of(DataType::bf16))),
        count_(std::clamp<std::size_t>(b.matrices.bytes() / matrix_bytes_, 1, 32)) {}

  std::size_t count() const { return count_; }
  void* matrix(std::size_t i) const { return b_->matrices.as<std::byte>() + i * matrix_bytes_; }
  void* x() const { return vectors(0); }
  void* y() const { return vectors(1); }
  void* norm() const { return vectors(2); }
  const float* factors() const { return static_cast<const float*>(vectors(3)); }

  /// Prints the line of a product that `queue` queues `count()` times.
  template <typename Queue>
  Status measure(Bench& b, const Product& product, std::int64_t rows, std::string_view kind,
                 const std::string& variant, const Queue& queue) const {
    const double seconds = TRY(b.seconds_of(queue)) / static_cast<double>(count_);
    const double rate = static_cast<double>(matrix_bytes_) / seconds;
    fmt::print("{:8} {:6} x {:5} rows {:2} {:9} {:32} {:8.2f} us {:6.0f} GB/s {:5.1f}% of a copy\n",
               product.name, product.rows(), product.inputs, rows, kind, variant, seconds * 1e6,
               rate / 1e9, 100 * rate / b.copied);
    return {};
  }

 private:
  void* vectors(std::size_t part) const {
    return b_->vectors.as<std::byte>() + part * (b_->vectors.bytes() / 4);
  }

  const Bench* b_;
  std::size_t matrix_bytes_, count_;
};

Status measure_vector(Bench& b, const Product& product, std::optional<DataType> codes,
                      const VectorVariant& variant) {
  VectorProduct products =
      TRY(VectorProduct::create(*b.device, DataType::bf16, 1e-5, codes, variant));
  const Chain chain(b, product, codes);
  const auto queue = [&]() -> Status {
    for (std::size_t i = 0; i < chain.count(); ++i) {
      const StoredMatrix at = {chain.matrix(i), codes ? chain.factors() : nullptr};
      const VectorProduct::Shape shape = {product.outputs, product.inputs};
      const void* const norm = product.normed ? chain.norm() : nullptr;
      if (product.swiglu) {
        TRY(products.forward_swiglu(*b.stream, chain.y(), chain.x(), at, shape, norm));
      } else {
        TRY(products.forward(*b.stream, chain.y(), chain.x(), at, shape, {.norm = norm}));
      }
    }
    return {};
  };
  return chain.measure(b, product, 1, codes ? name_of(*codes) : "bf16", variant.name(), queue);
}

Status measure_few_rows(Bench& b, const Product& product, std::int64_t rows,
                        std::optional<DataType> codes, SkinnyVariant variant) {
  SkinnyProduct products = TRY(SkinnyProduct::create(*b.device, rows, codes, variant));
  const Chain chain(b, product, codes);
  const LinearShape shape = {rows, product.outputs, product.inputs};
  const auto queue = [&]() -> Status {
    for (std::size_t i = 0; i < chain.count(); ++i) {
      const StoredMatrix at = {chain.matrix(i), codes ? chain.factors() : nullptr};
      if (product.swiglu) {
        TRY(products.forward_swiglu(*b.stream, chain.y(), chain.x(), at, shape));
      } else {
        TRY(products.forward(*b.stream, chain.y(), chain.x(), at, nullptr, shape));
      }
    }
    return {};
  };
  return chain.measure(b, product, rows, codes ? name_of(*codes) : "bf16", variant.name(), queue);
}

Status measure_library(Bench& b, GemmPlans& plans, const Product& product, std::int64_t rows) {
  const GemmProblem problem =
      forward_product({rows, product.rows(), product.inputs}, DataType::bf16);
  const Chain chain(b, product, std::nullopt);
  const auto queue = [&]() -> Status {
    for (std::size_t i = 0; i < chain.count(); ++i) {
      GemmOperands operands;
      operands.a = chain.x();
      operands.b = chain.matrix(i);
      operands.c = operands.d = chain.y();
      TRY(plans.enqueue(*b.stream, problem, operands));
    }
    return {};
  };
  return chain.measure(b, product, rows, "bf16", plans.libraries(), queue);
}

Status run(const std::string& model) {
  const TransformerShape shape = TRY(parse_decoder_shape(model));
  Bench b = TRY(open());
  const DeviceFacts& facts = b.device->facts();
  if (facts.runs_on_host) {
    return Error{ErrorKind::unsupported, "on a CPU there is one variant only"};
  }
  std::size_t largest = flushing_bytes(facts), rows = 0;
  for (const Product& product : products_of(shape)) {
    rows = std::max(rows, static_cast<std::size_t>(std::max(product.rows(), product.inputs)));
    largest = std::max(largest, 2 * static_cast<std::size_t>(product.rows() * product.inputs) *
                                    size_of(DataType::bf16));
  }
  b.matrices = TRY(b.device->allocate(largest, MemoryKind::device));
  constexpr std::size_t aligned = 256;
  const std::size_t part = (rows * sizeof(float) + aligned - 1) / aligned * aligned;
  b.vectors = TRY(b.device->allocate(4 * part * static_cast<std::size_t>(SkinnyProduct::most_rows),
                                     MemoryKind::device));
  InitialWeights random = TRY(InitialWeights::create(*b.device, *b.stream, DataType::bf16, 1));
  const auto fill = [&](const Buffer& buffer) {
    const auto elements = static_cast<std::int64_t>(buffer.bytes() / size_of(DataType::bf16));
    return random.normal(buffer.data(), {elements / 16, 16, 0}, 0.02);
  };
  TRY(fill(b.matrices));
  TRY(fill(b.vectors));
  const std::size_t half = largest / 2;
  const double copy = TRY(b.seconds_of(
      [&] { return b.stream->copy(b.matrices.as<std::byte>() + half, b.matrices.data(), half); }));
  b.copied = 2 * static_cast<double>(half) / copy;
  fmt::print("{}: a copy within the device moves {:.0f} GB/s\n", facts.name, b.copied / 1e9);
  const DataType fp8 = has_fnuz_fp8(facts) ? DataType::e4m3_fnuz : DataType::e4m3;
  const std::optional<DataType> kinds[] = {std::nullopt, fp8, DataType::i8};
  for (const auto& codes : kinds) {
    for (const Product& product : products_of(shape)) {
      for (const VectorVariant& variant : VectorProduct::variants()) {
        TRY(measure_vector(b, product, codes, variant));
      }
    }
  }
  GemmPlans plans(*b.device, *b.stream, {}, ChoiceCache::of_user(facts));
  for (const std::int64_t few : {4, 16, 32, 64}) {
    for (const Product& product : products_of(shape)) {
      TRY(measure_library(b, plans, product, few));
      for (const auto& codes : kinds) {
        for (const SkinnyVariant& variant : SkinnyProduct::variants()) {
          const Status measured = measure_few_rows(b, product, few, codes, variant);
          if (!measured.ok()) fmt::print("{}: {}\n", variant.name(), measured.error().message);
        }
      }
    }
  }
  return {};
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  if (const auto status = assay::run_as_rtc_worker(argc, argv)) return *status;
  const assay::Status done = assay::run(argc > 1 ? argv[1] : "llama3-8b");
  if (done.ok()) return 0;
  fmt::print(stderr, "{}\n", done.error().message);
  return 1;
}
