// Cells of benchmarks, as `assay run` measures them: each is prepared, run, and its result
// verified.
#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "advise/selftest/check.h"
#include "advise/selftest/expect.h"
#include "measure/grid/benchmark.h"
#include "measure/suites/cells_of_target.h"
#include "ranks/collective/communicators.h"

namespace assay::selftest::cells {
namespace {

struct CellCheck {
  std::string_view name;
  Topic topic;
  std::string_view about, benchmark;
  /// Axes of the cells, "op=copy,triad size=1MiB"; `small` ones replace those of `axes` on CPUs and
  /// emulated GPUs.
  std::string_view axes, small = "";
};

constexpr std::array cell_checks = {
    CellCheck{"memory-kernels", Topic::kernels,
              "kernels that read and write memory compute what they should", "memory",
              "size=64MiB cache=hot,cold", "size=64KiB"},
    CellCheck{"copy-cells", Topic::device, "copies of each direction and size arrive whole", "copy",
              "size=8,4KiB,64MiB", "size=8,64KiB"},
    CellCheck{"launch-cells", Topic::device, "launches are counted and timed", "launch", ""},
    CellCheck{"train-f32", Topic::kernels, "a GPT trains in f32", "train",
              "model=2L2H64C512V batch=2 sequence=64 steps=20 precision=f32,tf32 graph=on,off"},
    CellCheck{
        "train-bf16", Topic::kernels, "a GPT trains in bf16, with each way to keep states", "train",
        "model=2L2H128C512V batch=2 sequence=64 steps=20 precision=bf16 states=master,stochastic "
        "recompute=none,gelu,selective,perceptron,layer"},
    CellCheck{"train-f16", Topic::kernels, "a GPT trains in f16 with a loss scale", "train",
              "model=2L2H128C512V batch=2 sequence=64 steps=20 precision=f16 bias=on,off"},
    CellCheck{"train-perceptron", Topic::kernels, "a perceptron trains", "train",
              "model=64-128-16 batch=64 steps=20 precision=f32"},
    CellCheck{"decode-cells", Topic::kernels, "a decoder generates tokens", "decode",
              "model=2L4H2K64D256C1024V batch=1,3,32 context=40 precision=f32,bf16 generate=4",
              "batch=1,3"},
    CellCheck{"decode-quantized", Topic::kernels, "a decoder with quantized weights generates",
              "decode",
              "model=2L4H2K64D256C1024V batch=1,32 context=40 precision=bf16 quantization=fp8,int8",
              "batch=1"},
    CellCheck{"prefill-cells", Topic::kernels, "a decoder reads prompts", "prefill",
              "model=2L4H2K64D256C1024V batch=2 prompt=100 precision=f32,bf16"},
    CellCheck{"tensor-parallel-cells", Topic::kernels, "shards of layers compute on one rank",
              "tensor_parallel", ""},
};

/// The settings in `axes`, those in `others` instead of the ones of the same axis.
Result<std::vector<AxisSetting>> settings_of(std::string_view axes, std::string_view others) {
  std::vector<AxisSetting> settings;
  std::istringstream words(fmt::format("{} {}", axes, others));
  for (std::string word; words >> word;) {
    AxisSetting setting = TRY(parse_axis_setting(word));
    std::erase_if(settings, [&](const AxisSetting& old) { return old.axis == setting.axis; });
    settings.push_back(std::move(setting));
  }
  return settings;
}

Result<Verification> run_cell(const Benchmark& benchmark, const Cell& cell, Stage& stage) {
  if (const auto reason = benchmark.unsupported(cell, stage.device)) {
    return Error{ErrorKind::unsupported, *reason};
  }
  Communicators alone(stage.device, solo_team());
  const auto work =
      TRY(benchmark.prepare(cell, {stage.device, stage.stream, 3, solo_team(), alone}));
  for (int i = 0; i < 3; ++i) TRY(work->enqueue(stage.stream));
  TRY(stage.stream.synchronize());
  return work->verify(stage.stream);
}

/// The axes in which cells differ, as "op=copy dtype=f32".
std::string short_name(const Cell& cell, const std::vector<Cell>& cells) {
  std::string name;
  for (const auto& value : cell.values()) {
    const bool varies = std::ranges::any_of(
        cells, [&](const Cell& other) { return other.text(value.first) != value.second; });
    if (!varies) continue;
    name += fmt::format("{}{}={}", name.empty() ? "" : " ", value.first, value.second);
  }
  return name.empty() ? std::string(cell.benchmark()) : name;
}

Answer run_all(const CellCheck& check, Stage& stage) {
  const Benchmark* const benchmark = find_benchmark(check.benchmark);
  const auto settings = TRY(settings_of(check.axes, stage.large ? "" : check.small));
  const auto all = TRY(expand_cells(check.benchmark, benchmark->axes(), settings));
  const std::vector<Cell> cells = expand_on(all, stage.device, solo_team());
  int verified = 0, unsupported = 0;
  std::string reason;
  for (const Cell& cell : cells) {
    if (benchmark->redundant(cell)) continue;
    const auto result = run_cell(*benchmark, cell, stage);
    if (result.ok() && result->passed) {
      ++verified;
    } else if (!result.ok() && result.error().kind == ErrorKind::unsupported) {
      ++unsupported;
      reason = result.error().message;
    } else {
      const std::string& what = result.ok() ? result->detail : result.error().message;
      return wrong(fmt::format("{} ({})", what, short_name(cell, cells)));
    }
  }
  if (verified == 0) return Error{ErrorKind::unsupported, reason};
  if (unsupported == 0) return passed(fmt::format("{} cells", verified));
  return passed(fmt::format("{} cells; {} are not supported: {}", verified, unsupported, reason));
}

template <std::size_t index>
Answer run(Stage& stage) {
  return run_all(cell_checks[index], stage);
}

template <std::size_t... indices>
void add_all(std::index_sequence<indices...>) {
  (CheckRegistry::Add({.name = cell_checks[indices].name,
                       .topic = cell_checks[indices].topic,
                       .about = cell_checks[indices].about,
                       .accelerator = false,
                       .limit_seconds = 120,
                       .run = &run<indices>}),
   ...);
}

const bool added = [] {
  add_all(std::make_index_sequence<cell_checks.size()>());
  return true;
}();

}  // namespace
}  // namespace assay::selftest::cells
