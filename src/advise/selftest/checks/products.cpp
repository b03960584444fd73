// How assay uses the libraries of matrix products: captured chains, the factors of fp8, and
// products that leave multiprocessors to others.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "advise/selftest/check.h"
#include "advise/selftest/expect.h"
#include "compute/device/helpers.h"
#include "compute/device/matrix_unit_types.h"
#include "compute/stored_elements.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "core/random.h"

namespace assay::selftest::products {
namespace {

constexpr std::uint16_t one_in_bf16 = 0x3F80;

Result<Buffer> put(Stage& stage, const void* values, std::size_t bytes) {
  Buffer buffer = TRY(stage.device.allocate(bytes, MemoryKind::device));
  TRY(stage.stream.copy(buffer.data(), values, bytes));
  TRY(stage.stream.synchronize());
  return buffer;
}

/// A square product of bf16 whose operands are ones, so that every element of D is its size.
struct ProductOfOnes {
  GemmProblem problem;
  Buffer a, d;
  GemmOperands operands;

  static Result<ProductOfOnes> create(Stage& stage, std::int64_t size) {
    ProductOfOnes made;
    made.problem = make_gemm(size, size, size, DataType::bf16, DataType::bf16);
    const std::vector<std::uint16_t> ones(static_cast<std::size_t>(size * size), one_in_bf16);
    made.a = TRY(put(stage, ones.data(), 2 * ones.size()));
    made.d = TRY(put(stage, ones.data(), 2 * ones.size()));
    made.operands.a = made.operands.b = made.a.data();
    made.operands.c = made.operands.d = made.d.data();
    return made;
  }
  Status check(Stage& stage) const {
    const auto elements = static_cast<std::size_t>(problem.elements_d());
    const auto found = TRY(read_back<std::uint16_t>(stage.stream, d.data(), elements));
    const std::uint16_t expected = Bf16::encode(static_cast<float>(problem.k)).bits;
    for (std::size_t i = 0; i < elements; ++i) {
      if (found[i] == expected) continue;
      return wrong(fmt::format("element {} of a product of ones is {}, expected {}", i,
                               Bf16{found[i]}.decode(), problem.k));
    }
    return {};
  }
};

/// The host submits, captures and replays a chain of products; a graph costs it less.
Answer captured_chain(Stage& stage) {
  const int products = stage.large ? 1000 : 20, replays = stage.large ? 20 : 1;
  GemmPlans plans(stage.device, stage.stream, {.measure = stage.large}, ChoiceCache(""));
  const ProductOfOnes product = TRY(ProductOfOnes::create(stage, stage.large ? 256 : 64));
  const auto enqueue = [&](int count) -> Status {
    for (int i = 0; i < count; ++i) {
      TRY(plans.enqueue(stage.stream, product.problem, product.operands));
    }
    return {};
  };
  TRY(enqueue(1));
  TRY(stage.stream.synchronize());

  using Clock = std::chrono::steady_clock;
  const auto seconds = [&](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count() / products;
  };
  const auto submitting = Clock::now();
  TRY(enqueue(products));
  const double submitted = seconds(submitting);
  TRY(stage.stream.synchronize());

  const auto capturing = Clock::now();
  const auto graph = TRY(captured(stage.stream, [&] { return enqueue(products); }));
  const double recorded = seconds(capturing);
  TRY(stage.stream.launch(*graph));
  TRY(stage.stream.fill(product.d.data(), 0xFF, product.d.bytes()));
  double replayed = 1;
  for (int i = 0; i < replays; ++i) {
    TRY(stage.stream.synchronize());
    const auto begin = Clock::now();
    TRY(stage.stream.launch(*graph));
    replayed = std::min(replayed, seconds(begin));
  }
  TRY(product.check(stage));
  std::string answer = fmt::format(
      "host time of a product: submitted {:.2f} us, captured {:.2f} us, replayed "
      "{:.2f} us",
      1e6 * submitted, 1e6 * recorded, 1e6 * replayed);
  // CUDA's graphs cost the host less than a call; nothing is known of HIP's.
  const bool bounded = stage.large && stage.device.facts().is_nvidia();
  TRY(expect(!bounded || replayed < 1.5e-6, answer + ", expected at most 1.5 us"));
  return answer;
}

Answer fp8_factors(Stage& stage) {
  const DataType fp8 = has_fnuz_fp8(stage.device.facts()) ? DataType::e4m3_fnuz : DataType::e4m3;
  constexpr int n = 128;
  GemmProblem problem = make_gemm(n, n, n, fp8, DataType::bf16, false, true);
  problem.d = fp8;
  problem.scales_a = problem.scales_b = problem.scales_d = problem.writes_amax_d = true;
  Random random(1);
  std::vector<double> a(n * n), b(n * n);
  std::vector<std::uint8_t> a_codes(n * n), b_codes(n * n);
  const auto draw = [&](std::vector<double>& values, std::vector<std::uint8_t>& codes) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = (static_cast<double>(random.next() % 17) - 8) / 8;  // e4m3 holds it exactly
      store_element(fp8, &codes[i], values[i]);
    }
  };
  draw(a, a_codes);
  draw(b, b_codes);
  const std::vector<std::uint16_t> c(n * n);
  constexpr std::size_t apart = 64;  // a library may require aligned addresses
  std::vector<float> factors(4 * apart);
  constexpr float of_a = 2, of_b = 0.5, of_d = 0.25;
  factors[0] = of_a, factors[apart] = of_b, factors[2 * apart] = of_d, factors[3 * apart] = -1;
  const Buffer on_a = TRY(put(stage, a_codes.data(), a_codes.size()));
  const Buffer on_b = TRY(put(stage, b_codes.data(), b_codes.size()));
  const Buffer on_c = TRY(put(stage, c.data(), 2 * c.size()));
  const Buffer on_d = TRY(put(stage, a_codes.data(), a_codes.size()));
  const Buffer on_factors = TRY(put(stage, factors.data(), sizeof(float) * factors.size()));
  GemmOperands operands;
  operands.a = on_a.data();
  operands.b = on_b.data();
  operands.c = on_c.data();
  operands.d = on_d.data();
  operands.scale_a = on_factors.as<float>();
  operands.scale_b = on_factors.as<float>() + apart;
  operands.scale_d = on_factors.as<float>() + 2 * apart;
  operands.amax_d = on_factors.as<float>() + 3 * apart;
  GemmPlans plans(stage.device, stage.stream, {.measure = false}, ChoiceCache(""));
  if (const auto found = plans.find(problem); !found.ok()) {
    return Error{ErrorKind::unsupported, found.error().message};
  }
  TRY(plans.enqueue(stage.stream, problem, operands));
  const auto d = TRY(read_back<std::uint8_t>(stage.stream, on_d.data(), n * n));
  const auto after = TRY(read_back<float>(stage.stream, on_factors.data(), factors.size()));

  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum += a[i * n + k] * b[j * n + k];
      const double product = of_a * of_b * sum, expected = product * of_d;
      largest = std::max(largest, std::abs(product));
      // Half a step of 3 fraction bits; below the least normal value, half of its step.
      const double step = std::max(std::abs(expected) / 16, std::ldexp(1.0, -10));
      TRY(expect_within(fmt::format("D[{},{}]", i, j), load_element(fp8, &d[i * n + j]),
                        expected - step, expected + step));
    }
  }
  TRY(expect_equal("the largest magnitude of D", static_cast<double>(after[3 * apart]), largest));
  return passed();
}

Answer free_multiprocessors(Stage& stage) {
  GemmPlans plans(stage.device, stage.stream, {.measure = false}, ChoiceCache(""));
  ProductOfOnes product = TRY(ProductOfOnes::create(stage, stage.large ? 4096 : 256));
  const auto start = TRY(stage.device.create_event()), stop = TRY(stage.device.create_event());
  const auto seconds_with = [&](int multiprocessors) -> Result<double> {
    product.problem.multiprocessors = multiprocessors;
    for (int i = 0; i < 25; ++i) {
      if (i == 5) TRY(stage.stream.record(*start));
      TRY(plans.enqueue(stage.stream, product.problem, product.operands));
    }
    TRY(stage.stream.record(*stop));
    TRY(stage.stream.synchronize());
    return stop->seconds_since(*start);
  };
  const double quarter = TRY(seconds_with(stage.device.facts().multiprocessors / 4));
  TRY(product.check(stage));
  const double whole = TRY(seconds_with(0));
  const std::string found = fmt::format(
      "a product on a quarter of the multiprocessors takes {:.2f} times as long", quarter / whole);
  TRY(expect(!stage.large || quarter > 1.5 * whole, found + ", expected at least 1.5 times"));
  return found;
}

const AddChecks registered{
    {.name = "products-in-graphs",
     .topic = Topic::libraries,
     .about = "a captured chain of products is replayed with the right result",
     .run = &captured_chain},
    {.name = "products-fp8-factors",
     .topic = Topic::libraries,
     .about = "products of fp8 take their factors and give the largest magnitude",
     .run = &fp8_factors},
    {.name = "products-on-some-multiprocessors",
     .topic = Topic::libraries,
     .about = "a product leaves multiprocessors to others, if the library can",
     .run = &free_multiprocessors},
};

}  // namespace
}  // namespace assay::selftest::products
