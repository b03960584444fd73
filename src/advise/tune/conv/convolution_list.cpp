#include "advise/tune/conv/convolution_list.h"

#include <fmt/format.h>

#include <unordered_set>

#include "compute/vendor/convolution/convolution.h"
#include "core/input_file.h"
#include "measure/benchmarks/conv/conv_cell.h"
#include "measure/sampling/roofline.h"
#include "measure/suites/miopen_driver.h"

namespace assay {
namespace {

constexpr std::size_t longest_log_line = std::size_t{1} << 20;

}  // namespace

ConvolutionList convolutions_of_cells(const std::vector<Cell>& cells, const DeviceFacts& facts) {
  ConvolutionList list;
  std::unordered_set<std::string> known;  // cells may differ only in axes such as find=
  for (const Cell& cell : cells) {
    if (cell.benchmark() != "conv") continue;
    const auto parsed = parse_conv_cell(decide_conv_cell(cell, facts));
    if (!parsed.ok()) {
      list.leave_out(fmt::format("{}: {}", cell.id(), parsed.error().message));
    } else if (known.insert(describe(parsed->problem)).second) {
      list.add(parsed->problem, 1);
    }
  }
  return list;
}

Result<ConvolutionList> convolutions_of_log(const std::filesystem::path& path) {
  ConvolutionList list;
  InputLines lines = TRY(InputLines::open(path, longest_log_line));
  for (auto line = TRY(lines.next()); line; line = TRY(lines.next())) {
    const auto problems = parse_driver_command(line->text);
    if (!problems.ok()) {
      list.leave_out(
          fmt::format("{}:{}: {}", path.string(), line->number, problems.error().message));
      continue;
    }
    for (const ConvolutionProblem& problem : *problems) list.add(problem, 1);
  }
  if (list.problems.empty() && list.left_out_count == 0) {
    return Error{ErrorKind::usage,
                 fmt::format("{} holds no convolution; known are command lines of MIOpenDriver, "
                             "which MIOPEN_ENABLE_LOGGING_CMD=1 makes any program print",
                             path.string())};
  }
  return list;
}

ConvolutionList ordered(const ConvolutionList& list, const DeviceFacts& facts) {
  ConvolutionList possible;
  possible.left_out = list.left_out;
  possible.left_out_count = list.left_out_count;
  for (const CountedConvolution& one : list.problems) {
    if (const auto reason = convolution_unsupported("auto", one.problem, facts)) {
      possible.leave_out(fmt::format("{}: {}", describe(one.problem), *reason));
    } else {
      possible.problems.push_back(one);
    }
  }
  const auto name = [](const ConvolutionProblem& problem) { return describe(problem); };
  return ordered(possible, name, [&](const ConvolutionProblem& problem) {
    const Work work = {.bytes = problem.bytes(), .flops = problem.flops(), .math = problem.type};
    return floor_seconds(facts, work, Limit::compute).value_or(problem.flops());
  });
}

}  // namespace assay
