// The files of PyTorch's TunableOp: tunableop_results.csv has the fastest solutions,
// tunableop_untuned.csv the calls. PyTorch splits lines at every comma; there is no quoting.
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

/// The operator and its parameters in a row: "GemmTunableOp_BFloat16_TN" and
/// "tn_8192_1_4096_ld_4096_4096_8192".
struct TunableKey {
  std::string op, parameters;

  auto operator<=>(const TunableKey&) const = default;
};

/// A line of results: the key, the solution, and the unparsed rest of the line, which is
/// milliseconds and, with PYTORCH_TUNABLEOP_BLAS_LOG=1, the call.
struct TunableRow {
  TunableKey key;
  std::string solution;             ///< "Default", "Gemm_Hipblaslt_1219", "Gemm_Rocblas_-72"
  std::optional<std::string> rest;  ///< "0.0196817", "0.01,BLAS_PARAMS: {...}"; empty: nothing

  bool operator==(const TunableRow&) const = default;
  /// Returns the time at the beginning of `rest`; nullopt if there is none.
  std::optional<double> milliseconds() const;
};

/// A line of a file or log that was not used, and why; in a results file, because PyTorch ignores
/// it or would crash on it. Lines count from 1.
struct IgnoredLine {
  std::size_t number = 0;
  std::string why;
};

/// The content of a results file.
struct TunableResults {
  /// Names and values, in the file's order.
  std::vector<std::pair<std::string, std::string>> validators;
  std::vector<TunableRow> rows;
  std::vector<IgnoredLine> ignored;
  /// Whether lines end in carriage returns. PyTorch takes them as part of a validator's value,
  /// which then never matches.
  bool carriage_returns = false;
};

/// Parses a results file. It never fails: what PyTorch would not use is in `ignored`.
TunableResults parse_tunable_results(std::string_view text);
/// Returns the text of a results file, validators first, without ignored lines.
std::string text_of(const TunableResults& results);

/// A line of an untuned file. `rest` is as in TunableRow, but without the time.
struct UntunedRow {
  TunableKey key;
  std::optional<std::string> rest;

  bool operator==(const UntunedRow&) const = default;
};
/// The content of an untuned file.
struct UntunedFile {
  std::vector<UntunedRow> rows;
  std::vector<IgnoredLine> ignored;
};
/// Parses an untuned file. It never fails: lines that are no GEMM are in `ignored`, except the
/// validators of a results file.
UntunedFile parse_untuned(std::string_view text);
/// Returns the text of an untuned file, without ignored lines.
std::string text_of(const UntunedFile& file);

/// Returns the call that a key describes. Error: usage if it is not a key of PyTorch; unsupported,
/// with the reason, if a BlasCall cannot express it (complex numbers, "*" in place of a size).
Result<BlasCall> call_of(const TunableKey& key);

/// The forms in which versions of PyTorch write keys and solutions.
enum class TunableDialect {
  plain,    ///< up to 2.6: "tn_8192_2_3584", Gemm_Hipblaslt_TN_572
  leading,  ///< from 2.7: "tn_8192_2_3584_ld_3584_3584_8192", Gemm_Hipblaslt_572
};
/// Returns the dialect of a PyTorch version such as "2.9.1", "2.9.1+rocm6.4" or "2.10.0a0+git1234".
/// Error: usage, quoting the text.
Result<TunableDialect> tunable_dialect(std::string_view pytorch_version);

/// Returns the key under which PyTorch looks up this call. Error: unsupported if TunableOp never
/// makes such a call (an epilogue other than a bias, f32 sums into another type, beta).
Result<TunableKey> key_of(const BlasCall& call, TunableDialect dialect);

enum class BlasLibrary { hipblaslt, rocblas };
/// Returns the name of a solution for `call` in the dialect, for example "Gemm_Hipblaslt_572".
std::string solution_name(BlasLibrary library, std::int64_t index, const BlasCall& call,
                          TunableDialect dialect);
/// What a solution's name says.
struct TunableSolution {
  BlasLibrary library = BlasLibrary::hipblaslt;
  std::int64_t index = 0;
};
/// Parses a solution's name in either dialect; nullopt for "Default", for the bare numbers of the
/// first release, and for anything that is not a solution.
std::optional<TunableSolution> parse_solution(std::string_view name);

/// Returns the name of the file that PyTorch reads for a device: the device's number replaces "%d"
/// or is inserted before the last dot, as in "tunableop_results0.csv".
std::string name_for_ordinal(std::string_view filename, int ordinal);

}  // namespace assay
