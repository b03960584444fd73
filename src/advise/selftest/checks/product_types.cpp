// Which types, layouts and epilogues the vendor's libraries of matrix products have, and whether
// each gives the right result. What they lack is the answer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advise/selftest/check.h"
#include "advise/selftest/contracts/product_contract.h"
#include "advise/selftest/expect.h"
#include "compute/device/matrix_unit_types.h"

namespace assay::selftest::product_types {
namespace {

/// One kind of product: its types and epilogue, alpha and beta.
struct Kind {
  DataType a = DataType::f32, b = DataType::f32, d = DataType::f32;
  Epilogue epilogue = Epilogue::none;
  double alpha = 1, beta = 0;

  GemmProblem problem(bool transpose_a, bool transpose_b) const {
    // No size is a multiple of more than 16, which fp8 needs.
    GemmProblem made =
        make_gemm(48, 80, 112, a, is_fp8(d) ? DataType::bf16 : d, transpose_a, transpose_b);
    made.b = b;
    made.d = d;
    made.epilogue = epilogue;
    made.alpha = alpha;
    made.beta = beta;
    return made;
  }
  std::string text() const {
    return fmt::format("{}{}", name_of(epilogue),
                       beta == 0 ? "" : fmt::format(" alpha {} beta {}", alpha, beta));
  }
};

/// Which kinds a library computes.
class Tally {
 public:
  /// `layouts`: those that it computes; `of`: the number of all.
  void add(const Kind& kind, const std::vector<std::string>& layouts, std::size_t of) {
    std::string types = fmt::format("{}*{}->{}", name_of(kind.a), name_of(kind.b), name_of(kind.d));
    if (results_.empty() || results_.back().types != types) results_.push_back({types, {}, {}});
    const bool some = !layouts.empty() && layouts.size() < of;
    const std::string text =
        some ? fmt::format("{} ({} alone)", kind.text(), fmt::join(layouts, ", ")) : kind.text();
    (layouts.empty() ? results_.back().lacks : results_.back().has).push_back(text);
  }
  bool any() const {
    return std::ranges::any_of(results_, [](const Of& of) { return !of.has.empty(); });
  }
  /// "bf16*bf16->f32: none, bias; bf16*bf16->bf16: all but relu; nothing of bf16*bf16->f64"
  std::string text() const {
    std::vector<std::string> parts, nothing;
    for (const Of& of : results_) {
      if (of.has.empty()) {
        nothing.push_back(of.types);
      } else if (of.lacks.empty()) {
        parts.push_back(of.types + ": all");
      } else if (of.lacks.size() < of.has.size()) {
        parts.push_back(fmt::format("{}: all but {}", of.types, fmt::join(of.lacks, ", ")));
      } else {
        parts.push_back(fmt::format("{}: {}", of.types, fmt::join(of.has, ", ")));
      }
    }
    if (!nothing.empty()) parts.push_back(fmt::format("nothing of {}", fmt::join(nothing, ", ")));
    return fmt::format("{}", fmt::join(parts, "; "));
  }

 private:
  /// Epilogues with one set of types.
  struct Of {
    std::string types;
    std::vector<std::string> has, lacks;
  };
  std::vector<Of> results_;
};

/// Whether A and B are transposed; one layout is enough where products are slow.
std::vector<std::pair<bool, bool>> layouts_of(const Stage& stage) {
  if (!stage.large) return {{false, true}};
  return {{false, false}, {true, false}, {false, true}, {true, true}};
}

struct Fp8 {
  DataType e4m3, e5m2;
};
/// The two formats in the encoding of the device.
Fp8 fp8_of(const DeviceFacts& facts) {
  if (has_fnuz_fp8(facts)) return {DataType::e4m3_fnuz, DataType::e5m2_fnuz};
  return {DataType::e4m3, DataType::e5m2};
}

std::vector<Kind> kinds_of(const Stage& stage, DataType a, DataType b) {
  using enum Epilogue;
  if (a == DataType::i8) {
    std::vector<Kind> kinds;
    for (const Epilogue epilogue : {none, bias, relu, relu_bias}) {
      kinds.push_back({a, b, DataType::i32, epilogue});
    }
    return kinds;
  }
  const Fp8 fp8 = fp8_of(stage.device.facts());
  std::vector<Kind> kinds;
  for (const DataType d :
       {DataType::f64, DataType::f32, DataType::f16, DataType::bf16, fp8.e4m3, fp8.e5m2}) {
    for (int i = 0; i <= static_cast<int>(bgrad_b); ++i) {
      kinds.push_back({a, b, d, static_cast<Epilogue>(i)});
    }
    if (!is_fp8(d)) kinds.push_back({a, b, d, none, 0.5, 1});
  }
  return kinds;
}

/// Error: unavailable if the library is not there; failed if it refuses every product that it
/// claims to support.
Result<Tally> check_library(Stage& stage, const BlasProvider& provider,
                            const std::vector<Kind>& kinds) {
  Tally tally;
  std::unique_ptr<Blas> library;
  std::string refusal;
  const auto named = [&](const GemmProblem& problem, const Error& error) {
    return fmt::format("{} {}, {}: {}", library->facts().name, library->facts().version,
                       describe(problem), error.message);
  };
  for (const Kind& kind : kinds) {
    std::vector<std::string> layouts;
    for (const auto& [transpose_a, transpose_b] : layouts_of(stage)) {
      const GemmProblem problem = kind.problem(transpose_a, transpose_b);
      if (provider.unsupported(problem, stage.device.facts())) continue;
      if (library == nullptr) library = TRY(provider.open(stage.device));
      const Status held = check_product(stage.device, stage.stream, *library, problem);
      if (held.ok()) {
        layouts.emplace_back(layout_of(problem));
      } else if (held.error().kind == ErrorKind::unsupported) {
        refusal = named(problem, held.error());
      } else {
        return Error{held.error().kind, named(problem, held.error())};
      }
    }
    tally.add(kind, layouts, layouts_of(stage).size());
  }
  if (!tally.any() && !refusal.empty()) {
    // Which types oneDNN multiplies depends on the CPU's instructions; GPUs are known by name.
    const bool cpu = stage.device.facts().is_host_cpu();
    return Error{cpu ? ErrorKind::unsupported : ErrorKind::failed, refusal};
  }
  return tally;
}

Answer check_kinds(Stage& stage, const std::vector<Kind>& kinds) {
  std::string answer;
  std::optional<Error> absent;
  for (const BlasProvider& provider : blas_providers(stage.device.facts().backend)) {
    const auto tally = check_library(stage, provider, kinds);
    if (!tally.ok()) {
      if (tally.error().kind != ErrorKind::unavailable) return tally.error();
      absent = tally.error();
    } else if (tally->any()) {
      answer += fmt::format("{}{}: {}", answer.empty() ? "" : ". ", provider.name, tally->text());
    }
  }
  if (!answer.empty()) return answer;
  if (absent) return *absent;
  return Error{ErrorKind::unsupported, "no library computes products of this type here"};
}

template <DataType type>
Answer check_type(Stage& stage) {
  return check_kinds(stage, kinds_of(stage, type, type));
}

/// Checks both formats and both mixtures of them.
Answer check_fp8(Stage& stage) {
  const Fp8 fp8 = fp8_of(stage.device.facts());
  std::vector<Kind> kinds;
  for (const DataType a : {fp8.e4m3, fp8.e5m2}) {
    for (const DataType b : {fp8.e4m3, fp8.e5m2}) {
      for (const Kind& kind : kinds_of(stage, a, b)) kinds.push_back(kind);
    }
  }
  return check_kinds(stage, kinds);
}

constexpr std::string_view about =
    "products with every output type, layout and epilogue that a library has are right";
/// Libraries load the kernel of each product when it first runs.
constexpr double limit_seconds = 120;

const AddChecks registered{
    {.name = "products-f64",
     .topic = Topic::libraries,
     .about = about,
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &check_type<DataType::f64>},
    {.name = "products-f32",
     .topic = Topic::libraries,
     .about = about,
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &check_type<DataType::f32>},
    {.name = "products-tf32",
     .topic = Topic::libraries,
     .about = about,
     .limit_seconds = limit_seconds,
     .run = &check_type<DataType::tf32>},
    {.name = "products-f16",
     .topic = Topic::libraries,
     .about = about,
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &check_type<DataType::f16>},
    {.name = "products-bf16",
     .topic = Topic::libraries,
     .about = about,
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &check_type<DataType::bf16>},
    {.name = "products-i8",
     .topic = Topic::libraries,
     .about = about,
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &check_type<DataType::i8>},
    {.name = "products-fp8",
     .topic = Topic::libraries,
     .about = about,
     .limit_seconds = limit_seconds,
     .run = &check_fp8},
};

}  // namespace
}  // namespace assay::selftest::product_types
