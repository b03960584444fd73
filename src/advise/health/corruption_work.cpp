#include "advise/health/corruption_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "compute/device/helpers.h"
#include "measure/grid/axis.h"
#include "measure/suites/cells_of_target.h"

namespace assay::health {
namespace {

/// Products in a repetition of a burn-in: on a chip enough to hide the pause between repetitions.
constexpr int products_in_a_row = 8, products_of_chip = 64;

struct Row {
  std::string_view benchmark, axes;
  int steps = 1;
  bool verifies = true;
};

// A training checks its gradients against the reference when it is prepared. Whether its loss falls
// is not known after so few steps.
constexpr std::array<Row, 24> for_chips = {{
    {"gemm", "shape=8192 dtype=bf16"},
    {"memory", "op=triad dtype=f64 size=256MiB cache=hot"},
    {"train", "model=124M batch=8 sequence=1024 precision=bf16 graph=off", 2, false},
    {"copy", "direction=both memory=pinned size=256MiB"},
    {"gemm", "shape=4096 dtype=e4m3"},
    {"attention", "pass=forward precision=bf16 attention=own"},
    {"attention", "pass=backward precision=bf16 attention=own"},
    {"gemm", "shape=4096 dtype=f16 library=own"},
    {"copy", "direction=d2d memory=pinned size=1GiB"},
    {"train", "model=qwen3-0.6b batch=1 sequence=1024 precision=bf16 graph=off", 2, false},
    {"gemm", "shape=4096 dtype=f64"},
    {"prefill", "model=qwen3-0.6b prompt=2048"},
    {"memory", "op=dot dtype=f32 size=256MiB cache=hot"},
    {"decode", "model=qwen3-0.6b batch=4 context=1024 generate=8"},
    {"gemm", "shape=4096 dtype=f32"},
    {"attention", "pass=backward precision=bf16 attention=library"},
    {"gemm", "shape=4096 dtype=tf32"},
    {"decode", "model=qwen3-0.6b batch=4 context=1024 generate=4 quantization=fp8"},
    {"gemm", "shape=4096x11008x4096 dtype=bf16"},
    {"train", "model=30M batch=8 sequence=512 precision=f32 graph=off", 2, false},
    {"finetune", "model=qwen3-0.6b mode=lora products=fp8 batch=1 sequence=1024 graph=off", 2,
     false},
    {"gemm", "shape=4096 dtype=i8"},
    {"memory", "op=read dtype=f64 size=1GiB cache=hot"},
    {"conv", "direction=forward precision=bf16 n=32"},
}};

constexpr std::array<Row, 12> for_hosts = {{
    {"gemm", "shape=96 dtype=f32"},
    {"memory", "op=triad dtype=f64 size=256KiB cache=hot"},
    {"train", "model=1L2H32C256V batch=2 sequence=16 graph=off", 2, false},
    {"copy", "direction=both memory=pinned size=256KiB"},
    {"attention", "pass=backward sequence=64 batch=1 heads=2 width=32"},
    {"gemm", "shape=64 dtype=bf16"},
    {"prefill", "model=1L2H2K32D64C128F256V prompt=16"},
    {"memory", "op=dot dtype=f32 size=256KiB cache=hot"},
    {"decode", "model=1L2H2K32D64C128F256V context=16 generate=2"},
    {"gemm", "shape=64 dtype=f64"},
    {"copy", "direction=d2d memory=pinned size=256KiB"},
    {"gemm", "shape=128 dtype=bf16 library=own"},
}};

constexpr std::array<Row, 5> for_teams_of_chips = {{
    {"collective", "op=all_reduce dtype=bf16 redop=sum place=out size=64MiB"},
    {"collective", "op=all_gather dtype=f32 redop=none place=out size=256MiB"},
    {"collective", "op=reduce_scatter dtype=f32 redop=sum place=out size=256MiB"},
    {"collective", "op=all_to_all dtype=f32 redop=none place=out size=64MiB"},
    {"collective", "op=send_recv dtype=f32 redop=none place=out size=256MiB"},
}};

constexpr std::array<Row, 2> for_teams_of_hosts = {{
    {"collective", "op=all_reduce dtype=f32 redop=sum place=out size=64KiB"},
    {"collective", "op=send_recv dtype=f32 redop=none place=out size=64KiB"},
}};

Result<std::vector<AxisSetting>> settings_of(std::string_view axes) {
  std::vector<AxisSetting> settings;
  while (!axes.empty()) {
    const std::string_view word = axes.substr(0, axes.find(' '));
    axes.remove_prefix(std::min(axes.size(), word.size() + 1));
    settings.push_back(TRY(parse_axis_setting(word)));
  }
  return settings;
}

void append(std::vector<WorkDescription>& work, std::span<const Row> rows, const Device& device,
            const Team& team, bool of_team) {
  for (const Row& row : rows) {
    const Benchmark* const benchmark = find_benchmark(row.benchmark);
    if (benchmark == nullptr) continue;
    const auto settings = settings_of(row.axes);
    if (!settings.ok()) continue;
    const auto cells = expand_cells(row.benchmark, benchmark->axes(), *settings);
    if (!cells.ok()) continue;
    for (const Cell& cell : expand_on(*cells, device, team)) {
      work.push_back(
          {fmt::format("{} {}", row.benchmark, row.axes), cell, row.steps, row.verifies, of_team});
    }
  }
}

}  // namespace

std::vector<WorkDescription> corruption_work(const Device& device, const Team& team) {
  const bool large = suits_large_work(device.facts());
  std::vector<WorkDescription> work;
  append(work, large ? std::span<const Row>(for_chips) : std::span<const Row>(for_hosts), device,
         solo_team(), false);
  if (team.size() > 1) {
    append(
        work,
        large ? std::span<const Row>(for_teams_of_chips) : std::span<const Row>(for_teams_of_hosts),
        device, team, true);
  }
  return work;
}

Result<WorkDescription> work_of_cell(std::string_view text, const Device& device) {
  const std::size_t space = std::min(text.find(' '), text.size());
  const Row row = {text.substr(0, space), text.substr(std::min(space + 1, text.size()))};
  std::vector<WorkDescription> work;
  append(work, std::span(&row, 1), device, solo_team(), false);
  if (work.size() == 1) return std::move(work.front());
  return Error{
      ErrorKind::usage,
      fmt::format("\"{}\" names {} cells here; name one, e.g. \"gemm shape=64 dtype=bf16\"", text,
                  work.size())};
}

std::vector<WorkDescription> burn_work(Load load, const Device& device) {
  const auto is_of = [&](const WorkDescription& work) {
    const std::string& name = work.cell.benchmark();
    switch (load) {
      case Load::products:
        return name == "gemm";
      case Load::training:
        return name == "train";
      case Load::memory:
        return name == "memory";
      case Load::copies:
        return name == "copy";
      case Load::all:
        return true;
    }
    return true;
  };
  std::vector<WorkDescription> chosen;
  for (WorkDescription& work : corruption_work(device, solo_team())) {
    // Longer repetitions have fewer pauses between them.
    if (work.cell.benchmark() == "gemm") {
      work.steps = suits_large_work(device.facts()) ? products_of_chip : products_in_a_row;
    }
    if (is_of(work)) chosen.push_back(std::move(work));
  }
  return chosen;
}

bool is_chosen(std::string_view name, std::string_view only) {
  if (only.empty()) return true;
  while (!only.empty()) {
    const std::string_view word = only.substr(0, only.find(','));
    only.remove_prefix(std::min(only.size(), word.size() + 1));
    if (!word.empty() && name.starts_with(word)) return true;
  }
  return false;
}

}  // namespace assay::health
