// Reads the GEMM calls of a program from the logs of AMD's libraries. With HIPBLASLT_LOG_MASK=32
// hipBLASLt writes one line of hipblaslt-bench for each call. With ROCBLAS_LAYER=2 rocBLAS writes
// one line of rocblas-bench for each call, with 4 each distinct call once at exit, with how often
// it ran. tunable_op.h reads what PyTorch writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "advise/tune/counted_list.h"
#include "advise/tune/gemm/blas_call.h"
#include "advise/tune/gemm/tunable_op.h"
#include "core/result.h"

namespace assay {

using CountedProblem = Counted<GemmProblem>;

struct BlasLog {
  std::vector<CountedProblem> problems;  ///< in the order of their first calls
  std::vector<IgnoredLine> ignored;  ///< at most 20 lines about GEMMs that were not used, and why
  std::size_t ignored_lines = 0;     ///< number of all such lines; others do not count
};

/// A GEMM call in one line of a log. `profile`: the line gives the number of calls.
struct LoggedCall {
  BlasCall call;
  std::uint64_t count = 1;
  bool profile = false;
  bool rocblas = false;  ///< rocBLAS wrote the line, not hipBLASLt
};
/// Parses one line of a log; nullopt if it has no GEMM. Error: usage if the line is damaged;
/// unsupported if assay has no such GEMM.
Result<std::optional<LoggedCall>> parse_logged_call(std::string_view line);

/// Collects the calls of a log line by line.
class BlasLogReader {
 public:
  /// Reads one line, without its end; `number` is its place in the log, from 1. A line that
  /// parse_logged_call() refuses is one of BlasLog::ignored.
  void take(std::size_t number, std::string_view line);
  /// Returns what was read. If rocBLAS logged both single calls and their total numbers, the totals
  /// are used.
  BlasLog finish() &&;

 private:
  struct Counts {
    std::uint64_t single = 0, profile = 0;
    bool rocblas = false;
  };
  std::map<GemmProblem, std::size_t> places_;
  std::vector<std::pair<GemmProblem, Counts>> counts_;
  bool rocblas_profile_ = false;
  BlasLog log_;
};

}  // namespace assay
