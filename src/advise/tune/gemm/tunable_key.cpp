// Converts the keys and solutions of TunableOp's rows to calls and back.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "advise/tune/gemm/tunable_op.h"
#include "core/shown_text.h"
#include "core/text.h"

namespace assay {
namespace {

struct TorchType {
  DataType type;
  std::string_view name;
};
constexpr std::array<TorchType, 9> torch_types = {{
    {DataType::f32, "float"},
    {DataType::tf32, "tf32"},
    {DataType::f64, "double"},
    {DataType::bf16, "BFloat16"},
    {DataType::f16, "Half"},
    {DataType::e4m3, "Float8_e4m3fn"},
    {DataType::e5m2, "Float8_e5m2"},
    {DataType::e4m3_fnuz, "Float8_e4m3fnuz"},
    {DataType::e5m2_fnuz, "Float8_e5m2fnuz"},
}};

constexpr std::string_view plain_op = "GemmTunableOp_", bias_op = "GemmAndBiasTunableOp_",
                           batched_op = "GemmStridedBatchedTunableOp_",
                           scaled_op = "ScaledGemmTunableOp_";

Error unknown(const TunableKey& key, std::string_view what) {
  return {ErrorKind::usage,
          fmt::format("{},{}: {}", shown_line(key.op, 100), shown_line(key.parameters, 100), what)};
}
Error beyond(const TunableKey& key, std::string_view what) {
  return {ErrorKind::unsupported, unknown(key, what).message};
}

/// Removes the type at the front of `text`, with the "_" after it, and returns it.
std::optional<DataType> take_type(std::string_view& text) {
  const TorchType* longest = nullptr;  // "Float8_e4m3fn" is a prefix of "Float8_e4m3fnuz"
  for (const TorchType& known : torch_types) {
    if (!text.starts_with(known.name)) continue;
    if (longest == nullptr || known.name.size() > longest->name.size()) longest = &known;
  }
  if (longest == nullptr || !text.substr(longest->name.size()).starts_with('_')) {
    return std::nullopt;
  }
  text.remove_prefix(longest->name.size() + 1);
  return longest->type;
}

std::optional<std::string_view> torch_name(DataType type) {
  for (const TorchType& known : torch_types) {
    if (known.type == type) return known.name;
  }
  return std::nullopt;
}

/// Reads a row's parameters word by word; "_" separates them.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  std::string_view next() {
    const std::size_t end = rest_.find('_');
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return word;
  }
  bool skip(std::string_view word) {
    if (rest_ != word && !(rest_.starts_with(word) && rest_.substr(word.size()).starts_with('_'))) {
      return false;
    }
    next();
    return true;
  }
  /// Reads a size. Returns false if the word is not a number; wild() is then true for "*".
  bool number(std::int64_t& value) {
    const std::string_view word = next();
    wild_ = wild_ || word == "*";
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value);
    return parsed.ec == std::errc() && parsed.ptr == word.data() + word.size();
  }
  bool ended() const { return rest_.empty(); }
  bool wild() const { return wild_; }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool wild_ = false;
};

DataType sums_of(DataType type) {
  if (type == DataType::f64 || type == DataType::tf32) return type;
  return DataType::f32;
}

/// Reads the operator's letters and the sizes in the parameters into `call`.
Status read_parameters(const TunableKey& key, std::string_view letters, BlasCall& call) {
  Words words(key.parameters);
  const std::string_view layout = words.next();
  const auto transposed = [](char letter) { return letter == 'T' || letter == 't'; };
  const auto valid = [](std::string_view text) {
    return text.size() == 2 && text.find_first_not_of("NnTt") == std::string_view::npos;
  };
  if (!valid(letters) || !valid(layout) || transposed(letters[0]) != transposed(layout[0]) ||
      transposed(letters[1]) != transposed(layout[1])) {
    return unknown(key, "its transposes are not TN, NN, NT or TT, the same in both fields");
  }
  call.transpose_a = transposed(layout[0]);
  call.transpose_b = transposed(layout[1]);
  const bool sizes = words.number(call.m) && words.number(call.n) && words.number(call.k) &&
                     (!words.skip("B") || words.number(call.batch)) &&
                     (!words.skip("ld") ||
                      (words.number(call.lda) && words.number(call.ldb) && words.number(call.ldd)));
  if (words.wild()) return beyond(key, "it holds for many sizes (\"*\"); none can be measured");
  if (!sizes) return unknown(key, "its sizes are not numbers");
  call.ldc = call.ldd;
  if (words.skip("rw")) {
    std::int64_t rows = 0;
    if (!words.number(rows) || !words.skip("bias")) return unknown(key, "its scales are unknown");
    call.scale_a = call.scale_b = rows != 0 ? BlasCall::Scale::rows : BlasCall::Scale::tensor;
    if (!words.skip("None")) {
      std::string with_end(words.rest());
      with_end += '_';
      std::string_view text = with_end;
      const auto bias = take_type(text);
      if (!bias || !text.empty()) return unknown(key, "the type of its bias is unknown");
      call.epilogue = Epilogue::bias;
      call.bias = *bias;
      return {};
    }
  }
  if (!words.ended()) return unknown(key, "there is more in it than assay knows of");
  return {};
}

}  // namespace

Result<BlasCall> call_of(const TunableKey& key) {
  BlasCall call;
  std::string_view op = key.op;
  bool scaled = false;
  if (op.starts_with(bias_op)) {
    op.remove_prefix(bias_op.size());
    call.epilogue = Epilogue::bias;
  } else if (op.starts_with(batched_op)) {
    op.remove_prefix(batched_op.size());
  } else if (op.starts_with(scaled_op)) {
    op.remove_prefix(scaled_op.size());
    scaled = true;
  } else if (op.starts_with(plain_op)) {
    op.remove_prefix(plain_op.size());
  } else {
    return unknown(key, "no matrix product of PyTorch has this name");
  }
  if (op.starts_with("c10::complex")) return beyond(key, "assay has no complex products");
  const auto first = take_type(op);
  if (!first) return unknown(key, "its type is unknown");
  call.a = call.b = call.c = call.d = call.bias = *first;
  if (scaled) {
    call.scale_a = call.scale_b = BlasCall::Scale::tensor;
    // Some releases name only one type; the output is then bf16.
    const auto second = take_type(op);
    const auto third = second ? take_type(op) : std::nullopt;
    if (second) call.b = *second;
    call.c = call.d = third.value_or(DataType::bf16);
  }
  call.compute = sums_of(*first);
  if (*first == DataType::tf32) call.a = call.b = call.c = call.d = call.bias = DataType::f32;
  call.aux = call.d;
  TRY(read_parameters(key, op, call));
  return call;
}

Result<TunableDialect> tunable_dialect(std::string_view version) {
  int major = 0, minor = 0;
  const char* const end = version.data() + version.size();
  auto at = std::from_chars(version.data(), end, major);
  if (at.ec == std::errc() && at.ptr != end && *at.ptr == '.') {
    at = std::from_chars(at.ptr + 1, end, minor);
    // PyTorch 2.7 changed the format: https://github.com/pytorch/pytorch/pull/146358 and 147900.
    if (at.ec == std::errc() && major >= 2) {
      return major > 2 || minor >= 7 ? TunableDialect::leading : TunableDialect::plain;
    }
  }
  return Error{ErrorKind::usage,
               fmt::format("PyTorch's version \"{}\" is not allowed; allowed: 2.3 or later, as "
                           "torch.__version__ has it",
                           shown_line(version, 60))};
}

Result<TunableKey> key_of(const BlasCall& call, TunableDialect dialect) {
  const auto refuse = [&](std::string_view why) {
    return Error{ErrorKind::unsupported, fmt::format("PyTorch's TunableOp has no product {}", why)};
  };
  const bool scaled =
      call.scale_a != BlasCall::Scale::none || call.scale_b != BlasCall::Scale::none;
  const bool bias = call.epilogue == Epilogue::bias;
  if (call.epilogue != Epilogue::none && !bias) {
    return refuse(fmt::format("with the epilogue {}", name_of(call.epilogue)));
  }
  if (call.beta != 0) return refuse("that adds to its result");
  if (call.scale_d || call.amax_d) return refuse("that scales its result");
  if (scaled && call.scale_a != call.scale_b) return refuse("with factors of one operand only");
  const bool tf32 = call.compute == DataType::tf32;
  const DataType type = tf32 ? DataType::tf32 : call.a;
  const DataType stored = tf32 ? DataType::f32 : call.d;
  const auto name = torch_name(type), name_b = torch_name(call.b), name_d = torch_name(stored);
  if (!name || !name_b || !name_d) {
    return refuse(fmt::format("of {} * {} into {}", assay::name_of(call.a), assay::name_of(call.b),
                              assay::name_of(call.d)));
  }
  if (!scaled && !tf32 && (call.a != call.b || call.a != call.d || is_fp8(call.a))) {
    return refuse(fmt::format("of {} * {} into {} without factors", assay::name_of(call.a),
                              assay::name_of(call.b), assay::name_of(call.d)));
  }
  if (call.batch > 1 && (bias || scaled)) return refuse("of a batch with a bias or factors");
  const auto letter = [](bool transposed) { return transposed ? 'T' : 'N'; };
  const auto small = [](bool transposed) { return transposed ? 't' : 'n'; };
  const std::string layout =
      fmt::format("{}{}", letter(call.transpose_a), letter(call.transpose_b));
  TunableKey key;
  if (scaled) {
    key.op = fmt::format("{}{}_{}_{}_{}", scaled_op, *name, *name_b, *name_d, layout);
  } else {
    key.op = fmt::format("{}{}_{}",
                         bias             ? bias_op
                         : call.batch > 1 ? batched_op
                                          : plain_op,
                         *name, layout);
  }
  key.parameters = fmt::format("{}{}_{}_{}_{}", small(call.transpose_a), small(call.transpose_b),
                               call.m, call.n, call.k);
  if (call.batch > 1) key.parameters += fmt::format("_B_{}", call.batch);
  if (dialect == TunableDialect::leading) {
    const auto given = [](std::int64_t ld, std::int64_t dense) { return ld > 0 ? ld : dense; };
    key.parameters +=
        fmt::format("_ld_{}_{}_{}", given(call.lda, call.transpose_a ? call.k : call.m),
                    given(call.ldb, call.transpose_b ? call.n : call.k), given(call.ldd, call.m));
    if (scaled) {
      key.parameters += fmt::format("_rw_{}_bias_{}", call.scale_a == BlasCall::Scale::rows ? 1 : 0,
                                    bias ? torch_name(call.bias).value_or("BFloat16") : "None");
    }
  }
  return key;
}

std::string solution_name(BlasLibrary library, std::int64_t index, const BlasCall& call,
                          TunableDialect dialect) {
  if (library == BlasLibrary::rocblas) return fmt::format("Gemm_Rocblas_{}", index);
  if (dialect == TunableDialect::leading) return fmt::format("Gemm_Hipblaslt_{}", index);
  return fmt::format("Gemm_Hipblaslt_{}{}_{}", call.transpose_a ? 'T' : 'N',
                     call.transpose_b ? 'T' : 'N', index);
}

std::optional<TunableSolution> parse_solution(std::string_view name) {
  constexpr std::string_view lt = "Gemm_Hipblaslt_", roc = "Gemm_Rocblas_";
  TunableSolution solution;
  if (name.starts_with(lt)) {
    name.remove_prefix(lt.size());
    for (const char* layout : {"TN_", "NN_", "NT_", "TT_"}) {
      if (name.starts_with(layout)) {
        name.remove_prefix(3);
        break;
      }
    }
  } else if (name.starts_with(roc)) {
    name.remove_prefix(roc.size());
    solution.library = BlasLibrary::rocblas;
  } else {
    return std::nullopt;
  }
  std::int32_t index = 0;  // indices of both libraries are ints
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
  if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) return std::nullopt;
  solution.index = index;
  return solution;
}

}  // namespace assay
