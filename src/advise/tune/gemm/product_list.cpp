#include "advise/tune/gemm/product_list.h"

#include <fmt/format.h>

#include <set>

#include "advise/tune/gemm/override_file.h"
#include "advise/tune/gemm/tunable_op.h"
#include "compute/vendor/blas/gemm_choice.h"
#include "core/input_file.h"
#include "core/read_file.h"
#include "measure/benchmarks/gemm/gemm_cell.h"
#include "measure/sampling/roofline.h"

namespace assay {
namespace {

constexpr std::size_t most_file_bytes = std::size_t{256} << 20;  // the largest tuning file
constexpr std::size_t longest_line = std::size_t{1} << 20;  // the longest line of a log, which may
                                                            // have any size

void add_call(ProductList& list, const Result<BlasCall>& call, const std::string& what) {
  const auto problem = call.ok() ? problem_of(*call) : Result<GemmProblem>(Error(call.error()));
  if (problem.ok()) {
    list.add(*problem, 1);
  } else {
    list.leave_out(fmt::format("{}: {}", what, problem.error().message));
  }
}

/// Says which lines no reader takes, lest a damaged file look like a short one.
void leave_out(ProductList& list, const std::vector<IgnoredLine>& lines,
               const std::filesystem::path& path) {
  for (const IgnoredLine& line : lines) {
    list.leave_out(fmt::format("{}:{}: {}", path.string(), line.number, line.why));
  }
}

}  // namespace

ProductList products_of_cells(const std::vector<Cell>& cells) {
  ProductList list;
  std::set<GemmProblem> known;  // cells may differ only in axes such as algorithm=
  for (const Cell& cell : cells) {
    if (cell.benchmark() != "gemm") continue;
    const GemmCell parsed = parse_gemm_cell(cell);
    for (const std::string& layout : parsed.layouts) {
      GemmProblem problem = problem_of(parsed, layout);
      problem.constant_b = false;  // weights change in training, so no library may prepare B
      if (known.insert(problem).second) list.add(problem, 1);
    }
  }
  return list;
}

Result<ProductList> products_of_file(const std::filesystem::path& path) {
  ProductList list;
  const std::string start = start_of_file(path, 4096);
  const bool tunable = start.find("TunableOp_") != std::string::npos &&
                       (start.starts_with("Validator,") || start.starts_with("Gemm") ||
                        start.starts_with("ScaledGemm"));
  const bool override = start.starts_with("Git Version") || start.find("transA,transB,") == 0 ||
                        start.starts_with("N,") || start.starts_with("T,");
  if (tunable) {
    // Rows of results begin like rows of an untuned file, so one parser reads both.
    const UntunedFile file = parse_untuned(TRY(read_operand(path, most_file_bytes)));
    for (const UntunedRow& row : file.rows) add_call(list, call_of(row.key), path.string());
    leave_out(list, file.ignored, path);
  } else if (override) {
    const OverrideFile file = parse_override(TRY(read_operand(path, most_file_bytes)));
    for (const OverrideRow& row : file.rows) add_call(list, row.call(), path.string());
    leave_out(list, file.ignored, path);
  } else {
    InputLines lines = TRY(InputLines::open(path, longest_line));
    BlasLogReader reader;
    for (auto line = TRY(lines.next()); line; line = TRY(lines.next())) {
      reader.take(line->number, line->text);
    }
    BlasLog log = std::move(reader).finish();
    list.problems = std::move(log.problems);
    leave_out(list, log.ignored, path);
    list.left_out_count = log.ignored_lines;
  }
  if (list.problems.empty() && list.left_out_count == 0) {
    return Error{ErrorKind::usage,
                 fmt::format("{} holds no matrix product; known are TunableOp's untuned calls and "
                             "results, hipBLASLt's override files, logs of hipBLASLt "
                             "(HIPBLASLT_LOG_MASK=32) and of rocBLAS (ROCBLAS_LAYER=4)",
                             path.string())};
  }
  return list;
}

ProductList ordered(const ProductList& list, const DeviceFacts& facts) {
  return ordered(list, problem_text, [&](const GemmProblem& problem) {
    const Work work = {.bytes = problem.bytes(), .flops = problem.flops(), .math = problem.a};
    return floor_seconds(facts, work, Limit::compute).value_or(problem.flops());
  });
}

}  // namespace assay
