#include "advise/tune/gemm/blas_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "core/shown_text.h"
#include "core/text.h"
#include "results/import/text_lines.h"

namespace assay {
namespace {

constexpr std::size_t most_words = 160;  // a line of hipblaslt-bench has about 70
constexpr std::size_t most_ignored = 20;

using Fields = std::map<std::string_view, std::string_view>;

std::string_view at(const Fields& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string_view() : found->second;
}

Error damaged(std::string_view name, std::string_view value) {
  return {ErrorKind::usage, fmt::format("{} is \"{}\"", name, shown_line(value, 60))};
}
Error beyond(std::string what) {
  return {ErrorKind::unsupported, std::move(what)};
}

Result<std::int64_t> number(const Fields& fields, std::string_view name,
                            std::optional<std::int64_t> otherwise) {
  const std::string_view text = at(fields, name);
  if (text.empty() && otherwise) return *otherwise;
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < 0) {
    return damaged(name, text);
  }
  return value;
}

/// Parses "--transA T" and "-m 5": names lose their dashes, and a flag has the value "1".
Fields fields_of_words(std::string_view text) {
  Fields fields;
  const auto words = split_words(text, most_words);
  const auto is_name = [](std::string_view word) {
    return word.starts_with("--") ||
           (word.size() == 2 && word[0] == '-' && (word[1] < '0' || word[1] > '9'));
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_name(words[i])) continue;
    std::string_view name = words[i];
    name.remove_prefix(name.starts_with("--") ? 2 : 1);
    const bool flag = i + 1 == words.size() || is_name(words[i + 1]);
    fields[name] = flag ? "1" : words[i + 1];
  }
  return fields;
}

/// Parses a YAML map on one line: "{ M: 5, transA: 'T', function: \"...\" }".
Fields fields_of_braces(std::string_view text) {
  Fields fields;
  const auto bare = [](std::string_view word) {
    word = trim(word);
    if (word.size() >= 2 && (word.front() == '"' || word.front() == '\'')) {
      word = word.substr(1, word.size() - 2);
    }
    return word;
  };
  text = text.substr(0, text.find('}'));
  for (std::size_t parts = 0; !text.empty() && parts < most_words; ++parts) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t colon = part.find(':');
    if (colon != std::string_view::npos) {
      fields[trim(part.substr(0, colon))] = bare(part.substr(colon + 1));
    }
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return fields;
}

Result<DataType> type_at(const Fields& fields, std::string_view name, std::string_view otherwise) {
  const std::string_view text = at(fields, name).empty() ? otherwise : at(fields, name);
  const auto type = parse_bench_type(text);
  if (!type) {
    return beyond(fmt::format("assay has no products with {} {}", name, shown_line(text, 40)));
  }
  return *type;
}

Status read_types(const Fields& fields, std::string_view precision, BlasCall& call) {
  call.a = TRY(type_at(fields, "a_type", precision));
  call.b = TRY(type_at(fields, "b_type", precision));
  call.c = TRY(type_at(fields, "c_type", precision));
  call.d = TRY(
      type_at(fields, "d_type", at(fields, "c_type").empty() ? precision : at(fields, "c_type")));
  std::string_view compute = at(fields, "compute_type");
  if (compute.empty()) compute = precision == "f64_r" ? "f64_r" : "f32_r";
  const auto parsed = parse_bench_compute(compute);
  if (!parsed) {
    return beyond(fmt::format("assay has no sums in {}", shown_line(compute, 40)));
  }
  call.compute = *parsed;
  call.bias = parse_bench_type(at(fields, "bias_type")).value_or(call.d);
  call.aux = parse_bench_type(at(fields, "aux_type")).value_or(call.d);
  return {};
}

Result<BlasCall::Scale> scale_at(const Fields& fields, std::string_view name) {
  const std::string_view text = at(fields, name);
  if (text.empty() || text == "0") return BlasCall::Scale::none;
  // PyTorch gives the type of the factor instead of its kind.
  if (text == "1" || text == "s" || text == "f32_r") return BlasCall::Scale::tensor;
  if (text == "2" || text == "v") return BlasCall::Scale::rows;
  return beyond(fmt::format("assay has no products with {} {}", name, shown_line(text, 40)));
}

Result<Epilogue> epilogue_of(const Fields& fields) {
  std::string activation = lower_case(at(fields, "activation_type"));
  // the key in PyTorch
  if (activation.empty()) activation = lower_case(at(fields, "activation"));
  const auto set = [&](std::string_view name) {
    return !at(fields, name).empty() && at(fields, name) != "0";
  };
  const bool bias = set("bias_vector"), aux = set("use_e"), gradient = set("gradient");
  const bool none = activation.empty() || activation == "none", gelu = activation == "gelu";
  if (gradient && gelu) return bias ? Epilogue::dgelu_bgrad : Epilogue::dgelu;
  if (gradient && none && bias) {
    // In the log A is the B of the row-major problem.
    if (at(fields, "bias_source") == "a") return Epilogue::bgrad_b;
    if (at(fields, "bias_source") == "b") return Epilogue::bgrad_a;
  }
  if (!gradient && none && !aux) return bias ? Epilogue::bias : Epilogue::none;
  if (!gradient && activation == "relu" && !aux) {
    return bias ? Epilogue::relu_bias : Epilogue::relu;
  }
  if (!gradient && gelu && aux) return bias ? Epilogue::gelu_aux_bias : Epilogue::gelu_aux;
  if (!gradient && gelu) return bias ? Epilogue::gelu_bias : Epilogue::gelu;
  return beyond(fmt::format("assay has no products with the activation {}{}",
                            shown_line(activation, 40), gradient ? " of a gradient" : ""));
}

Result<bool> transposed(const Fields& fields, std::string_view name) {
  const std::string_view text = at(fields, name);
  if (text == "N" || text == "n") return false;
  if (text == "T" || text == "t") return true;
  if (text == "C" || text == "c") return true;  // equal to T for real numbers
  return damaged(name, text);
}

struct Names {
  std::string_view transpose_a = "transA", transpose_b = "transB", m = "m", n = "n", k = "k";
};

Result<BlasCall> call_of(const Fields& fields, const Names& names, std::string_view precision) {
  BlasCall call;
  call.transpose_a = TRY(transposed(fields, names.transpose_a));
  call.transpose_b = TRY(transposed(fields, names.transpose_b));
  call.m = TRY(number(fields, names.m, std::nullopt));
  call.n = TRY(number(fields, names.n, std::nullopt));
  call.k = TRY(number(fields, names.k, std::nullopt));
  call.batch = TRY(number(fields, "batch_count", 1));
  const std::pair<std::string_view, std::int64_t*> optional[] = {
      {"lda", &call.lda},           {"ldb", &call.ldb},
      {"ldc", &call.ldc},           {"ldd", &call.ldd},
      {"stride_a", &call.stride_a}, {"stride_b", &call.stride_b},
      {"stride_d", &call.stride_d}, {"lde", &call.lde}};
  for (const auto& [name, place] : optional) *place = TRY(number(fields, name, 0));
  if (call.ldd == 0) call.ldd = call.ldc;  // gemm of rocBLAS has only C
  if (call.stride_d == 0) call.stride_d = TRY(number(fields, "stride_c", 0));
  TRY(read_types(fields, precision, call));
  call.alpha = parse_number(at(fields, "alpha")).value_or(1);
  call.beta = parse_number(at(fields, "beta")).value_or(0);
  call.epilogue = TRY(epilogue_of(fields));
  call.scale_a = TRY(scale_at(fields, "scaleA"));
  call.scale_b = TRY(scale_at(fields, "scaleB"));
  call.scale_d = at(fields, "scaleD") == "1";
  call.amax_d = at(fields, "amaxD") == "1";
  return call;
}

/// The letter of the element type in names such as rocblas_sgemm; empty for gemm_ex, whose operands
/// have separate types. nullopt: not a GEMM.
std::optional<std::string_view> precision_of(std::string_view function) {
  if (function.starts_with("rocblas_")) function.remove_prefix(8);
  for (const std::string_view name :
       {"gemm_ex", "gemm_strided_batched_ex", "gemm_ex3", "gemm", "gemm_strided_batched"}) {
    if (function == name) return "";
  }
  for (const auto& [letter, type] : {std::pair('s', "f32_r"), {'d', "f64_r"}, {'h', "f16_r"}}) {
    if (function.empty() || function[0] != letter) continue;
    const std::string_view rest = function.substr(1);
    if (rest == "gemm" || rest == "gemm_strided_batched") return type;
  }
  return std::nullopt;
}

std::string_view precision_at(const Fields& fields) {
  return at(fields, "precision").empty() ? at(fields, "r") : at(fields, "precision");
}

/// Returns the sum, at most the largest number.
std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  return a + std::min(b, std::numeric_limits<std::uint64_t>::max() - a);
}

}  // namespace

Result<std::optional<LoggedCall>> parse_logged_call(std::string_view line) {
  using Found = std::optional<LoggedCall>;
  LoggedCall logged;
  constexpr std::string_view lt = "hipblaslt-bench ", roc = "rocblas-bench ",
                             profile = "rocblas_function:", torch = "{ function: matmul";
  if (const auto place = line.find(lt); place != std::string_view::npos) {
    const Fields fields = fields_of_words(line.substr(place + lt.size()));
    // the line only mentions the program
    if (at(fields, "m").empty() && at(fields, "n").empty()) return Found();
    if (at(fields, "api_method") == "cpp") logged.source = CallSource::hipblaslt_extension;
    logged.call = TRY(call_of(fields, {}, precision_at(fields)));
    return Found(logged);
  }
  if (const auto place = line.find(roc); place != std::string_view::npos) {
    const Fields fields = fields_of_words(line.substr(place + roc.size()));
    const auto precision = precision_of(at(fields, "f"));
    if (!precision) return Found();
    logged.source = CallSource::rocblas;
    logged.call = TRY(call_of(fields, {"transposeA", "transposeB"},
                              precision->empty() ? precision_at(fields) : *precision));
    return Found(logged);
  }
  const auto place = line.find(profile), torch_place = line.find(torch);
  if (place == std::string_view::npos && torch_place == std::string_view::npos) return Found();
  const bool rocblas = place != std::string_view::npos;
  const Fields fields =
      fields_of_braces(rocblas ? line.substr(place) : line.substr(torch_place + 1));
  std::string_view precision;
  logged.source = rocblas ? CallSource::rocblas : CallSource::pytorch;
  if (rocblas) {
    const auto of_function = precision_of(at(fields, "rocblas_function"));
    if (!of_function) return Found();
    precision = *of_function;
    logged.profile = !at(fields, "call_count").empty();
    logged.count = static_cast<std::uint64_t>(TRY(number(fields, "call_count", 1)));
  }
  logged.call = TRY(call_of(fields, {"transA", "transB", "M", "N", "K"}, precision));
  return Found(logged);
}

void BlasLogReader::take(std::size_t line_number, std::string_view line) {
  const auto ignore = [&](const Error& error) {
    ++log_.ignored_lines;
    if (log_.ignored.size() < most_ignored) log_.ignored.push_back({line_number, error.message});
  };
  const auto logged = parse_logged_call(line);
  if (!logged.ok()) return ignore(logged.error());
  if (!*logged) return;
  const auto problem = problem_of((*logged)->call);
  if (!problem.ok()) return ignore(problem.error());
  const auto [place, added] = places_.try_emplace(*problem, counts_.size());
  if (added) counts_.push_back({*problem, {}});
  Counts& counts = counts_[place->second].second;
  rocblas_profile_ = rocblas_profile_ || (*logged)->profile;
  std::uint64_t& single = counts.single[static_cast<std::size_t>((*logged)->source)];
  std::uint64_t& calls = (*logged)->profile ? counts.profile : single;
  calls = sum(calls, (*logged)->count);
}

BlasLog BlasLogReader::finish() && {
  for (const auto& [problem, counts] : counts_) {
    const auto [rocblas, hipblaslt, extension, pytorch] = counts.single;
    const std::uint64_t of_rocblas = rocblas_profile_ ? counts.profile : rocblas;
    const std::uint64_t count = std::max(sum(hipblaslt, std::max(of_rocblas, extension)), pytorch);
    if (count > 0) log_.problems.push_back({problem, count});
  }
  return std::move(log_);
}

}  // namespace assay
