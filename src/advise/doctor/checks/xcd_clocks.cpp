#include <fmt/format.h>

#include <algorithm>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"
#include "advise/doctor/pci.h"
#include "core/units.h"
#include "machine/system/gpu_metrics.h"

namespace assay::xcd_clocks_check {
namespace {

constexpr Advice advice = {
    .wanted = "XCDs within 5% of each other under load",
    .why = "a kernel spread over all dies ends when the slowest one does",
    .source = "ROCm docs, workload optimization: efficiency uses the mean clock of the slowest XCD",
    .fix =
        "reduce the chance of power excursions: sudo amd-smi set --gpu all --perf-determinism "
        "1900; update the firmware if the spread persists"};

constexpr int busy_percent = 50;
constexpr double tolerated_spread = 0.05;

/// Why there are no clocks: the problem that the parser found in the driver's table.
std::string why_none(const CheckContext& context, const Gpu& gpu) {
  const std::filesystem::path path = pci_folder(gpu.pci) / "gpu_metrics";
  const FileText file = context.machine.read(path);
  if (file.state != FileState::found) return why_not(context.machine, gpu.pci, "gpu_metrics");
  const GpuMetrics metrics = parse_gpu_metrics(file.text);
  return metrics.problem.empty() ? "gpu_metrics has no clock per XCD" : metrics.problem;
}

std::optional<Finding> look(const CheckContext& context, const Gpu& gpu) {
  const std::vector<double>& clocks = gpu.state.engine_clocks_hz;
  if (gpu.vendor != "amd" || gpu.dies.value_or(2) < 2) return std::nullopt;
  if (clocks.size() < 2) return unknown(advice, why_none(context, gpu), label(gpu));
  const auto [least, most] = std::minmax_element(clocks.begin(), clocks.end());
  const std::string found = fmt::format("{} XCDs at {} to {}", clocks.size(),
                                        format_frequency(*least), format_frequency(*most));
  // Idle dies sleep individually.
  if (!gpu.state.utilisation_percent) {
    return unknown(advice, found + ", and it is not known whether the GPU is busy", label(gpu));
  }
  if (*gpu.state.utilisation_percent < busy_percent) {
    return unknown(advice, "idle, where clocks mean nothing: read again under load", label(gpu));
  }
  if (*most - *least <= tolerated_spread * *most) return passed(advice, found, label(gpu));
  return failed(advice, found, label(gpu));
}

std::vector<Finding> run(const CheckContext& context) {
  return for_each_gpu(context, [&](const Gpu& gpu) { return look(context, gpu); });
}

const CheckRegistry::Add registered{{"xcd-clocks", "Clocks of the XCDs", Topic::gpu, &run}};

}  // namespace
}  // namespace assay::xcd_clocks_check
