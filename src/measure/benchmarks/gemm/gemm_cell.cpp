#include "measure/benchmarks/gemm/gemm_cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/units.h"

namespace assay {
namespace {

const std::vector<std::string> layouts = {"NN", "TN", "NT", "TT"};
const std::vector<std::string> patterns = {"zeros", "ones", "integers", "normal"};

struct NamedEpilogue {
  std::string_view name;
  Epilogue epilogue;
};
constexpr std::array<NamedEpilogue, 11> epilogues = {{
    {"none", Epilogue::none},
    {"bias", Epilogue::bias},
    {"relu", Epilogue::relu},
    {"relu_bias", Epilogue::relu_bias},
    {"gelu", Epilogue::gelu},
    {"gelu_bias", Epilogue::gelu_bias},
    {"gelu_aux", Epilogue::gelu_aux},
    {"gelu_aux_bias", Epilogue::gelu_aux_bias},
    {"dgelu", Epilogue::dgelu},
    {"dgelu_bgrad", Epilogue::dgelu_bgrad},
    // This is the epilogue of a weight gradient, where A is the transposed gradient of the outputs.
    {"bgrad", Epilogue::bgrad_a},
}};

/// The output type of a GEMM with operands of type `in`. fp8 results are stored in a wider type, as
/// in training.
DataType output_of(DataType in) {
  switch (in) {
    case DataType::f64:
      return DataType::f64;
    case DataType::f32:
    case DataType::tf32:
      return DataType::f32;
    case DataType::f16:
      return DataType::f16;
    case DataType::i8:
      return DataType::i32;
    default:
      return DataType::bf16;
  }
}

std::vector<std::string> with_auto(std::vector<std::string> names) {
  names.insert(names.begin(), "auto");
  return names;
}

std::vector<Axis> make_gemm_axes() {
  std::vector<std::string> epilogue_names;
  for (const NamedEpilogue& entry : epilogues) epilogue_names.emplace_back(entry.name);
  std::vector<std::string> layout_choices = layouts;
  layout_choices.emplace_back("any");
  std::vector<Axis> axes = {
      {.name = "shape",
       .description = "MxNxK of out[M,N] = A[M,K] @ B[K,N]",
       .kind = Axis::Kind::shape,
       .defaults = {"4096"},
       .choices = {},
       .most = std::uint64_t{1} << 24},
      {.name = "batch",
       .description = "number of products of that shape in one call",
       .kind = Axis::Kind::integer,
       .defaults = {"1"},
       .choices = {},
       .most = 65535},
      {.name = "dtype",
       .description = "type of A and B (e5m2: A in e5m2, B in e4m3); fp8 gives bf16, i8 gives i32",
       .defaults = {"bf16"},
       .choices = {"f64", "f32", "tf32", "f16", "bf16", "e4m3", "e5m2", "e4m3_fnuz", "e5m2_fnuz",
                   "i8"}},
      {.name = "layout",
       .description = "transposes as BLAS libraries name them: TN is x @ w.T (F.linear), NN a @ b, "
                      "NT a.T @ b, TT a.T @ b.T; any: the fastest of the four",
       .defaults = {"TN"},
       .choices = layout_choices},
      {.name = "epilogue",
       .description = "operation fused to the end of the product",
       .defaults = {"none"},
       .choices = epilogue_names},
      {.name = "library",
       .description =
           "auto: the vendor's preferred library, or with algorithm=best the fastest of all",
       .defaults = {"auto"},
       .choices = with_auto(blas_names())},
      {.name = "inputs",
       .description = "values of A and B: all 0, all 1, integers -2 to 2, normal(0, 1)",
       .defaults = {"normal"},
       .choices = patterns},
      {.name = "pad",
       .description = "elements added to each row (128 avoids strides that are multiples of 512 B)",
       .kind = Axis::Kind::integer,
       .defaults = {"0"},
       .choices = {},
       .least = 0,
       .most = 65536},
      {.name = "rotate",
       .description = "operands rotate through copies with at least this many bytes in total",
       .kind = Axis::Kind::size,
       .defaults = {"0"},
       .choices = {},
       .least = 0},
      {.name = "chain",
       .description = "products queued back to back per sample, for the sustained rate",
       .kind = Axis::Kind::integer,
       .defaults = {"1"},
       .choices = {},
       .most = 1000},
      {.name = "algorithm",
       .description = "default: the library's own choice; best: the fastest of its top candidates, "
                      "measured here",
       .defaults = {"default"},
       .choices = {"default", "best"}},
      {.name = "accumulate",
       .description = "fast: fp8 sums stay in the matrix unit's reduced precision (NVIDIA)",
       .defaults = {"full"},
       .choices = {"full", "fast"}},
  };
  return axes;
}

std::size_t index_in(const std::vector<std::string>& names, std::string_view name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

bool is_nonlinear(Epilogue epilogue) {
  return epilogue >= Epilogue::gelu && epilogue <= Epilogue::dgelu_bgrad;
}

}  // namespace

const std::vector<Axis>& gemm_axes() {
  static const std::vector<Axis> axes = make_gemm_axes();
  return axes;
}

GemmCell parse_gemm_cell(const Cell& cell) {
  GemmCell parsed;
  const std::string_view shape = cell.text("shape");
  const char* at = shape.data();
  const char* const end = at + shape.size();
  for (std::int64_t* extent : {&parsed.m, &parsed.n, &parsed.k}) {
    at = std::from_chars(at, end, *extent).ptr;
    if (at != end) ++at;  // skip the "x"
  }
  parsed.batch = static_cast<std::int64_t>(cell.integer("batch"));
  parsed.dtype = parse_data_type(cell.text("dtype")).value_or(DataType::bf16);
  parsed.layouts =
      cell.text("layout") == "any" ? layouts : std::vector{std::string(cell.text("layout"))};
  for (const NamedEpilogue& entry : epilogues) {
    if (entry.name == cell.text("epilogue")) parsed.epilogue = entry.epilogue;
  }
  parsed.library = cell.text("library");
  parsed.inputs = static_cast<Inputs>(index_in(patterns, cell.text("inputs")));
  parsed.pad = static_cast<std::int64_t>(cell.integer("pad"));
  parsed.rotate_bytes = cell.integer("rotate");
  parsed.chain = static_cast<int>(cell.integer("chain"));
  parsed.best = cell.text("algorithm") == "best";
  parsed.fast_accumulate = cell.text("accumulate") == "fast";
  return parsed;
}

GemmProblem problem_of(const GemmCell& cell, std::string_view layout) {
  GemmProblem problem = make_gemm(cell.m, cell.n, cell.k, cell.dtype, output_of(cell.dtype),
                                  layout[1] == 'T', layout[0] == 'T', cell.batch, cell.pad);
  // NVIDIA's libraries have no e5m2 x e5m2 product; training multiplies e5m2 gradients by e4m3
  // weights and activations.
  if (cell.dtype == DataType::e5m2) problem.b = DataType::e4m3;
  if (cell.dtype == DataType::e5m2_fnuz) problem.b = DataType::e4m3_fnuz;
  problem.epilogue = cell.epilogue;
  problem.fast_accumulate = cell.fast_accumulate;
  problem.constant_b = true;
  if (is_nonlinear(cell.epilogue)) {
    // Scales the input of gelu to the order of 1, where gelu is curved; a power of two is exact.
    problem.alpha = std::exp2(-std::round(std::log2(static_cast<double>(cell.k)) / 2));
  }
  return problem;
}

double largest_input(const GemmCell& cell) {
  switch (cell.inputs) {
    case Inputs::zeros:
      return 0;
    case Inputs::ones:
      return 1;
    case Inputs::integers:
      return 2;
    case Inputs::normal:
      break;
  }
  return cell.dtype == DataType::i8 ? 127 : std::numeric_limits<double>::infinity();
}

std::uint64_t operand_bytes(const GemmProblem& p) {
  std::int64_t bytes = p.elements_a() * static_cast<std::int64_t>(size_of(p.a)) +
                       p.elements_b() * static_cast<std::int64_t>(size_of(p.b)) +
                       p.elements_d() * static_cast<std::int64_t>(size_of(p.d));
  if (reads_aux(p.epilogue) || writes_aux(p.epilogue)) {
    bytes += p.m * p.ld_aux * static_cast<std::int64_t>(size_of(p.aux));
  }
  return static_cast<std::uint64_t>(bytes);
}

std::size_t operand_sets(const GemmCell& cell, const GemmProblem& problem) {
  if (cell.rotate_bytes == 0) return 1;
  const std::uint64_t one = operand_bytes(problem);
  return std::max<std::size_t>(2, static_cast<std::size_t>((cell.rotate_bytes + one - 1) / one));
}

std::optional<std::string> gemm_unsupported(const GemmCell& cell, const DeviceFacts& facts) {
  if (cell.batch > 1 && cell.epilogue != Epilogue::none) {
    return fmt::format("epilogue {} with batch {}: epilogues take one matrix",
                       name_of(cell.epilogue), cell.batch);
  }
  if (cell.dtype == DataType::i8 && cell.epilogue != Epilogue::none) {
    return "integer products take no epilogue";
  }
  if (cell.fast_accumulate && size_of(cell.dtype) != 1) {
    return "accumulate=fast applies to fp8 only";
  }
  const GemmProblem first = problem_of(cell, cell.layouts.front());
  const std::uint64_t needed = operand_bytes(first) * operand_sets(cell, first);
  if (facts.memory_bytes > 0 && needed > facts.memory_bytes) {
    return fmt::format("needs {} for its operands, the device has {}", format_memory(needed),
                       format_memory(facts.memory_bytes));
  }
  std::vector<std::string> reasons;
  for (const BlasProvider& provider : blas_providers(facts.backend)) {
    if (!provider.allowed_by(cell.library)) continue;
    for (const std::string& layout : cell.layouts) {
      const auto reason = provider.unsupported(problem_of(cell, layout), facts);
      if (!reason) return std::nullopt;
      const std::string text = fmt::format("{}: {}", provider.name, *reason);
      if (std::find(reasons.begin(), reasons.end(), text) == reasons.end()) {
        reasons.push_back(text);
      }
    }
  }
  if (!reasons.empty()) return fmt::format("{}", fmt::join(reasons, "; "));
  if (cell.library == "auto") return fmt::format("no matrix library for {} devices", facts.backend);
  return fmt::format("{} does not work on {} devices", cell.library, facts.backend);
}

}  // namespace assay
