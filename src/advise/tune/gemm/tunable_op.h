// The files of PyTorch's TunableOp: tunableop_results.csv, what was found fastest, and
// tunableop_untuned.csv, what was called. PyTorch splits lines at commas, without quotes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "advise/tune/gemm/blas_call.h"
#include "core/result.h"

namespace assay {

/// What a row is about: "GemmTunableOp_BFloat16_TN" and "tn_8192_1_4096_ld_4096_4096_8192".
struct TunableKey {
  std::string op, parameters;

  auto operator<=>(const TunableKey&) const = default;
};

/// A line of results: the key, the solution, and, unparsed, what follows it: milliseconds and, with
/// PYTORCH_TUNABLEOP_BLAS_LOG=1, the call.
struct TunableRow {
  TunableKey key;
  std::string solution;             ///< "Default", "Gemm_Hipblaslt_1219", "Gemm_Rocblas_-72"
  std::optional<std::string> rest;  ///< "0.0196817", "0.01,BLAS_PARAMS: {...}"

  bool operator==(const TunableRow&) const = default;
  std::optional<double> milliseconds() const;
};

/// A line that PyTorch passes over, or would not survive, and why.
struct IgnoredLine {
  std::size_t number = 0;
  std::string why;
};

struct TunableResults {
  std::vector<std::pair<std::string, std::string>> validators;  ///< in the file's order
  std::vector<TunableRow> rows;
  std::vector<IgnoredLine> ignored;
  /// PyTorch compares them as part of a validator's value, which then never fits.
  bool carriage_returns = false;
};

TunableResults parse_tunable_results(std::string_view text);
/// The file with these validators and rows; parse_tunable_results()'s inverse.
std::string text_of(const TunableResults& results);

/// A line of an untuned file; `rest` as in TunableRow, without the time.
struct UntunedRow {
  TunableKey key;
  std::optional<std::string> rest;

  bool operator==(const UntunedRow&) const = default;
};
struct UntunedFile {
  std::vector<UntunedRow> rows;
  std::vector<IgnoredLine> ignored;
};
UntunedFile parse_untuned(std::string_view text);
std::string text_of(const UntunedFile& file);

/// The call of a key. Error: usage if it is none of PyTorch's; unsupported, with the reason, if it
/// is one that a BlasCall does not express (complex numbers, "*" in place of a size).
Result<BlasCall> call_of(const TunableKey& key);

/// How PyTorch writes keys and solutions, by its version.
enum class TunableDialect {
  plain,    ///< up to 2.6: "tn_8192_2_3584", Gemm_Hipblaslt_TN_572
  leading,  ///< from 2.7: "tn_8192_2_3584_ld_3584_3584_8192", Gemm_Hipblaslt_572
};
/// Of "2.9.1", "2.9.1+rocm6.4", "2.10.0a0+git1234". Error: usage, quoting it.
Result<TunableDialect> tunable_dialect(std::string_view pytorch_version);

/// The key under which PyTorch looks for this call. Error: unsupported if no TunableOp makes it (an
/// epilogue other than a bias, f32 sums into another type, beta).
Result<TunableKey> key_of(const BlasCall& call, TunableDialect dialect);

enum class BlasLibrary { hipblaslt, rocblas };
/// "Gemm_Hipblaslt_572" or as the dialect has it.
std::string solution_name(BlasLibrary library, std::int64_t index, const BlasCall& call,
                          TunableDialect dialect);
struct TunableSolution {
  BlasLibrary library = BlasLibrary::hipblaslt;
  std::int64_t index = 0;
};
/// Of either dialect; nullopt for "Default", the bare numbers of the first release, and what is no
/// solution.
std::optional<TunableSolution> parse_solution(std::string_view name);

/// "tunableop_results0.csv": where PyTorch on that device looks, in place of "%d" or before the
/// last dot.
std::string name_for_ordinal(std::string_view filename, int ordinal);

}  // namespace assay
