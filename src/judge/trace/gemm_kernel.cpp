#include "judge/trace/gemm_kernel.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace assay {
namespace {

bool is_digit_of_tile(char letter) {
  return letter >= '0' && letter <= '9';
}

/// Reads a number at `at` and moves behind it; 0 if there is none.
unsigned number_at(std::string_view text, std::size_t& at) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
  if (error != std::errc()) return 0;
  at = static_cast<std::size_t>(end - text.data());
  return number;
}

/// Reads "128x256" or "128x256x32", then "_32x3" or "_64x4" if only two numbers were given, whose
/// first is K.
bool read_tile(std::string_view text, std::size_t at, GemmKernel& kernel) {
  kernel.m = number_at(text, at);
  if (kernel.m == 0 || at >= text.size() || text[at] != 'x') return false;
  kernel.n = number_at(text, ++at);
  if (kernel.n == 0) return false;
  if (at < text.size() && (text[at] == 'x' || text[at] == '_')) {
    std::size_t next = at + 1;
    const unsigned k = number_at(text, next);
    const bool stages = text[at] == '_' && (next >= text.size() || text[next] != 'x');
    if (!stages) kernel.k = k;
  }
  return true;
}

/// Returns the position of the first "128x64" from `from` on; npos if there is none.
std::size_t find_tile(std::string_view text, std::size_t from) {
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!is_digit_of_tile(text[at]) || (at > 0 && text[at - 1] != '_')) continue;
    std::size_t end = at;
    while (end < text.size() && is_digit_of_tile(text[end])) ++end;
    if (end + 1 < text.size() && text[end] == 'x' && is_digit_of_tile(text[end + 1])) return at;
    at = end;
  }
  return std::string_view::npos;
}

std::string upper_transposes(std::string_view text) {
  std::string upper;
  for (const char letter : text) upper += letter == 't' || letter == 'T' ? 'T' : 'N';
  return upper;
}

/// Finds "_tn_", "_nn" at the end and the like.
std::string transposes_in(std::string_view name) {
  for (const std::string_view pair : {"nn", "nt", "tn", "tt"}) {
    for (std::size_t at = name.find(pair); at != name.npos; at = name.find(pair, at + 1)) {
      const bool before = at > 0 && name[at - 1] == '_';
      const bool after = at + 2 == name.size() || name[at + 2] == '_' || name[at + 2] == '>' ||
                         name[at + 2] == '(';
      if (before && after) return upper_transposes(pair);
    }
  }
  return {};
}

std::string type_of_letter(char letter) {
  switch (letter) {
    case 'B':
      return "bf16";
    case 'H':
      return "f16";
    case 'S':
      return "f32";
    case 'D':
      return "f64";
    case 'X':
      return "tf32";
    case 'I':
      return "i8";
    default:
      return {};
  }
}

/// "Cijk_Alik_Bljk_BBS_BH_..._MT128x256x32_...": AMD's Tensile, in rocBLAS and hipBLASLt.
std::optional<GemmKernel> parse_tensile(std::string_view name) {
  const std::size_t begin = name.find("Cijk_A");
  if (begin == name.npos || name.size() < begin + 15) return std::nullopt;
  GemmKernel kernel;
  kernel.library = "Tensile";
  const std::string_view a = name.substr(begin + 5, 4), b = name.substr(begin + 10, 4);
  if (a == "Alik" || a == "Ailk") kernel.transposes += a == "Alik" ? 'T' : 'N';
  if (b == "Bljk" || b == "Bjlk") kernel.transposes += b == "Bljk" ? 'N' : 'T';
  const std::string_view types = name.substr(begin + 15);
  if (types.starts_with("F8") || types.starts_with("B8")) {
    kernel.types = types.starts_with("F8") ? "e4m3" : "e5m2";
  } else if (!types.empty()) {
    kernel.types = type_of_letter(types.front());
  }
  const std::size_t tile = name.find("_MT");
  if (tile != name.npos) read_tile(name, tile + 3, kernel);
  return kernel;
}

/// "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT": NVIDIA's kernels for Hopper and later.
std::optional<GemmKernel> parse_nvjet(std::string_view name) {
  if (!name.starts_with("nvjet")) return std::nullopt;
  GemmKernel kernel;
  kernel.library = "nvjet";
  std::size_t at = name.find('_');
  if (at != name.npos && name.substr(at).starts_with("_sm")) at = name.find('_', at + 1);
  if (at != name.npos && at + 1 < name.size()) {
    switch (name[at + 1]) {
      case 't':
        kernel.types = "bf16";
        break;
      case 'h':
        kernel.types = "f16";
        break;
      case 's':
        kernel.types = "f32";
        break;
      case 'q':
        kernel.types = "e4m3";
        break;
      default:
        break;
    }
  }
  const std::size_t tile = find_tile(name, 0);
  if (tile != name.npos) read_tile(name, tile, kernel);
  const std::size_t last = name.rfind('_');
  const std::string_view end = last == name.npos ? "" : name.substr(last + 1);
  if (end.size() == 3 && end.find_first_not_of("TN") == end.npos) {
    kernel.transposes = end.substr(0, 2);
  }
  return kernel;
}

std::string type_in(std::string_view name) {
  for (const auto& [word, type] : {std::pair<std::string_view, std::string_view>{"bf16", "bf16"},
                                   {"e4m3", "e4m3"},
                                   {"e5m2", "e5m2"},
                                   {"tf32", "tf32"},
                                   {"f16", "f16"},
                                   {"h16816", "f16"},
                                   {"hgemm", "f16"},
                                   {"s1688gemm", "tf32"},
                                   {"dgemm", "f64"},
                                   {"f64", "f64"},
                                   {"sgemm", "f32"},
                                   {"f32", "f32"}}) {
    if (name.find(word) != name.npos) return std::string(type);
  }
  return {};
}

/// "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_...",
/// "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_64x3_tn_align8", "volta_sgemm_128x64_nn".
std::optional<GemmKernel> parse_nvidia(std::string_view name) {
  GemmKernel kernel;
  const std::size_t tile_size = name.find("tilesize");
  if (name.find("xmma_gemm") != name.npos) {
    kernel.library = "xmma";
    if (tile_size != name.npos) read_tile(name, tile_size + 8, kernel);
  } else {
    const std::size_t cutlass = name.find("cutlass_");
    const std::size_t gemm = name.find("gemm");
    if (gemm == name.npos) return std::nullopt;
    const std::size_t tile = find_tile(name, gemm);
    if (tile == name.npos || !read_tile(name, tile, kernel)) return std::nullopt;
    kernel.library = cutlass != name.npos ? "cutlass" : "cuBLAS";
  }
  kernel.types = type_in(name);
  kernel.transposes = transposes_in(name);
  return kernel;
}

/// Returns the lists of "[[4],[2,3],[]]", which must hold numbers.
std::vector<std::vector<std::uint64_t>> lists_of(std::string_view text) {
  std::vector<std::vector<std::uint64_t>> lists;
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '[') lists.emplace_back();
    if (lists.empty() || !is_digit_of_tile(text[at])) continue;
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error != std::errc()) return {};
    lists.back().push_back(number);
    at = static_cast<std::size_t>(end - text.data()) - 1;
  }
  return lists;
}

std::string axis_type(std::string_view type) {
  for (const auto& [torch, axis] :
       {std::pair<std::string_view, std::string_view>{"c10::BFloat16", "bf16"},
        {"c10::Half", "f16"},
        {"float", "f32"},
        {"double", "f64"},
        {"c10::Float8_e4m3fn", "e4m3"},
        {"c10::Float8_e4m3fnuz", "e4m3_fnuz"},
        {"c10::Float8_e5m2", "e5m2"},
        {"signed char", "i8"}}) {
    if (type == torch) return std::string(axis);
  }
  return parse_data_type(type) ? std::string(type) : std::string();
}

/// Returns the item with this number of "[c10::Half,float]".
std::string_view item_of(std::string_view list, std::size_t number) {
  if (list.size() < 2) return {};
  list = list.substr(1, list.size() - 2);
  for (; number > 0; --number) {
    const std::size_t comma = list.find(',');
    if (comma == list.npos) return {};
    list.remove_prefix(comma + 1);
  }
  return list.substr(0, list.find(','));
}

}  // namespace

DataType result_type(DataType math) {
  if (is_fp8(math)) return DataType::bf16;
  if (math == DataType::i8) return DataType::i32;
  return math == DataType::tf32 ? DataType::f32 : math;
}

double bytes_of(const GemmProblem2D& problem, DataType math) {
  const auto m = static_cast<double>(problem.m), n = static_cast<double>(problem.n),
             k = static_cast<double>(problem.k);
  return static_cast<double>(problem.batch) *
         ((m * k + k * n) * static_cast<double>(size_of(math)) +
          m * n * static_cast<double>(size_of(result_type(math))));
}

std::optional<GemmKernel> parse_gemm_kernel(std::string_view name) {
  if (auto kernel = parse_tensile(name)) return kernel;
  if (auto kernel = parse_nvjet(name)) return kernel;
  return parse_nvidia(name);
}

std::optional<GemmProblem2D> gemm_problem(std::string_view operation, std::string_view shapes,
                                          std::string_view types) {
  const auto lists = lists_of(shapes);
  const bool adds = operation == "aten::addmm" || operation == "aten::baddbmm" ||
                    operation == "aten::addmm_" || operation == "aten::_addmm_activation";
  const std::size_t first = adds ? 1 : 0;
  if (lists.size() < first + 2) return std::nullopt;
  const auto &a = lists[first], &b = lists[first + 1];
  GemmProblem2D problem;
  problem.type = axis_type(item_of(types, first));
  const bool own = operation == own_product;
  if (operation == "aten::mm" || (own && a.size() == 2) || operation == "aten::addmm" ||
      operation == "aten::addmm_" || operation == "aten::_addmm_activation" ||
      operation == "aten::_scaled_mm" || operation == "aten::_int_mm") {
    if (a.size() != 2 || b.size() != 2 || a[1] != b[0]) return std::nullopt;
    problem.m = a[0];
    problem.k = a[1];
    problem.n = b[1];
  } else if (operation == "aten::bmm" || own || operation == "aten::baddbmm") {
    if (a.size() != 3 || b.size() != 3 || a[0] != b[0] || a[2] != b[1]) return std::nullopt;
    problem.batch = a[0];
    problem.m = a[1];
    problem.k = a[2];
    problem.n = b[2];
  } else if (operation == "aten::linear") {
    if (a.size() < 2 || b.size() != 2 || a.back() != b[1]) return std::nullopt;
    problem.m = 1;
    for (std::size_t i = 0; i + 1 < a.size(); ++i) {
      if (__builtin_mul_overflow(problem.m, a[i], &problem.m)) return std::nullopt;
    }
    problem.k = a.back();
    problem.n = b[0];
  } else {
    return std::nullopt;
  }
  if (problem.m == 0 || problem.n == 0 || problem.k == 0 || problem.batch == 0) return std::nullopt;
  return problem;
}

std::optional<double> tile_efficiency(const GemmKernel& kernel, const GemmProblem2D& problem,
                                      unsigned units) {
  if (kernel.m == 0 || kernel.n == 0 || units == 0) return std::nullopt;
  const auto tiles_of = [](std::uint64_t size, unsigned tile) {
    return static_cast<double>(size / tile + (size % tile == 0 ? 0 : 1));
  };
  // These libraries compute row-major products as transposed column-major ones, so that the tile's
  // M runs along the problem's N.
  const double rows = tiles_of(problem.n, kernel.m), columns = tiles_of(problem.m, kernel.n);
  const double used = static_cast<double>(problem.n) / (rows * kernel.m) *
                      static_cast<double>(problem.m) / (columns * kernel.n);
  const double tiles = rows * columns * static_cast<double>(problem.batch);
  const double waves = std::max(1.0, (tiles + units - 1) / units);
  return used * tiles / (static_cast<double>(static_cast<std::uint64_t>(waves)) * units);
}

}  // namespace assay
