// Reads the GEMM calls of a program from the logs of AMD's libraries. With HIPBLASLT_LOG_MASK=32
// hipBLASLt writes a command line of hipblaslt-bench for each call. With ROCBLAS_LAYER=2 rocBLAS
// writes a command line of rocblas-bench for each call; with 4 it writes each distinct call once,
// at exit, as a YAML map with the number of calls. The maps after "BLAS_PARAMS:" that PyTorch
// writes (PYTORCH_TUNABLEOP_BLAS_LOG=1) are read, too; tunable_op.h reads PyTorch's own files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "advise/tune/counted_list.h"
#include "advise/tune/gemm/blas_call.h"
#include "advise/tune/gemm/tunable_op.h"
#include "core/result.h"

namespace assay {

using CountedProblem = Counted<GemmProblem>;

/// The GEMMs in a log.
struct BlasLog {
  std::vector<CountedProblem> problems;  ///< each once, in the order of their first calls
  std::vector<IgnoredLine> ignored;  ///< the first 20 lines with a GEMM that was not used, and why
  std::size_t ignored_lines = 0;     ///< number of all such lines
};

/// Who wrote a line of a log. rocBLAS may pass a call on to hipBLASLt, by hipBLASLt's extension for
/// C++ (ROCBLAS_USE_HIPBLASLT=1, and by default on some chips), so that both write a line.
enum class CallSource { rocblas, hipblaslt, hipblaslt_extension, pytorch };

/// A GEMM in one line of a log.
struct LoggedCall {
  BlasCall call;
  std::uint64_t count = 1;  ///< number of calls; 1 unless `profile`
  bool profile = false;     ///< whether the line gives rocBLAS's total number of calls
  CallSource source = CallSource::hipblaslt;
};
/// Parses one line of a log; nullopt if it has no GEMM. Error: usage if a value is missing or
/// damaged; unsupported if assay has no such GEMM.
Result<std::optional<LoggedCall>> parse_logged_call(std::string_view line);

/// Collects the calls of a log line by line.
class BlasLogReader {
 public:
  /// Reads one line, without its end; `number` is its place in the log, from 1. A line whose GEMM
  /// parse_logged_call() or problem_of() (blas_call.h) refuses is one of BlasLog::ignored.
  void take(std::size_t number, std::string_view line);
  /// Returns what was read. Calls of rocBLAS and of hipBLASLt are added. No call counts twice: if
  /// the log has totals of rocBLAS, single calls of rocBLAS do not count; of calls through
  /// hipBLASLt's extension only those count that are more than rocBLAS's; PyTorch's lines count
  /// only where they are more than all others. A GEMM without a call that counts is left out.
  BlasLog finish() &&;

 private:
  /// Numbers of calls of one GEMM.
  struct Counts {
    std::array<std::uint64_t, 4> single = {};  // lines of single calls, indexed by CallSource
    std::uint64_t profile = 0;                 // sum of rocBLAS's totals
  };
  std::map<GemmProblem, std::size_t> places_;  // indices into counts_
  std::vector<std::pair<GemmProblem, Counts>> counts_;
  bool rocblas_profile_ = false;  // the log has totals of rocBLAS
  BlasLog log_;
};

}  // namespace assay
