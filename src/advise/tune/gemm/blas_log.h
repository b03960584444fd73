// The matrix products that a program called, from what AMD's libraries log: hipBLASLt with
// HIPBLASLT_LOG_MASK=32 (one line of hipblaslt-bench for each call), rocBLAS with ROCBLAS_LAYER=2
// (one line of rocblas-bench for each call) or 4 (at the end, each call once with its number), and
// PyTorch with PYTORCH_TUNABLEOP_BLAS_LOG=1.
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
  std::vector<IgnoredLine> ignored;      ///< of lines about products the first few
  std::size_t ignored_lines = 0;         ///< all of them
};

/// One line of a log: nullopt if it is about no matrix product. `profile`: it says how often.
struct LoggedCall {
  BlasCall call;
  std::uint64_t count = 1;
  bool profile = false;
  bool rocblas = false;
};
/// Error: usage if the line is damaged, unsupported if assay has no such product.
Result<std::optional<LoggedCall>> parse_logged_call(std::string_view line);

/// Takes a log line by line.
class BlasLogReader {
 public:
  void take(std::size_t number, std::string_view line);
  /// What was read. If rocBLAS logged both single calls and their numbers, the numbers count.
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
