#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"

namespace assay::partition_mode_check {
namespace {

constexpr Advice advice = {
    .wanted = "SPX/NPS1, or what --partition names",
    .why =
        "in another mode a job finds more and smaller GPUs, or the same GPU with another memory "
        "bandwidth, than it was tuned for",
    .source = "AMD Instinct docs, GPU partitioning; amdgpu sysfs current_compute_partition",
    .fix = {}};

constexpr Advice mig_advice = {.wanted = "MIG off, or what --partition names",
                               .why = "a MIG slice has a share of the SMs and memory and no NVLink",
                               .source = "NVIDIA Multi-Instance GPU User Guide",
                               .fix = "sudo nvidia-smi --multi-instance-gpu 0"};

std::string mode_of(const Gpu& gpu) {
  return gpu.memory_partition.empty() ? gpu.compute_partition
                                      : gpu.compute_partition + "/" + gpu.memory_partition;
}

bool is_known(std::string_view compute_partition) {
  constexpr std::array<std::string_view, 6> modes = {"SPX", "DPX", "TPX", "QPX", "CPX", "MIG"};
  return std::find(modes.begin(), modes.end(), compute_partition) != modes.end();
}

/// A mode such as "SPX/NPS1", "SPX" or "NPS1"; a part that is not given is empty.
struct Mode {
  std::string compute, memory;
};
Mode parse(const std::string& text) {
  if (text.starts_with("NPS")) return {{}, text};
  const std::size_t slash = text.find('/');
  return {text.substr(0, slash), slash == std::string::npos ? "" : text.substr(slash + 1)};
}

/// Whether the GPU is in the wanted mode; compares only the parts that `wanted` specifies.
bool agrees(const Gpu& gpu, const Mode& wanted) {
  return (wanted.compute.empty() || wanted.compute == gpu.compute_partition) &&
         (wanted.memory.empty() || wanted.memory == gpu.memory_partition);
}

/// The memory mode comes first: changing it reloads the driver and may reset the compute mode.
std::string fix_for(const Mode& mode) {
  std::vector<std::string> commands;
  if (!mode.memory.empty()) {
    commands.push_back("sudo amd-smi set --gpu all --memory-partition " + mode.memory);
  }
  if (!mode.compute.empty()) {
    commands.push_back("sudo amd-smi set --gpu all --compute-partition " + mode.compute);
  }
  return fmt::format("{}", fmt::join(commands, " && "));
}

std::optional<Finding> look(const CheckContext& context, const Gpu& gpu) {
  if (gpu.compute_partition.empty()) return std::nullopt;
  const std::string mode = mode_of(gpu);
  const std::string& intent = context.intent.partition;
  const std::string usual = gpu.memory_partition.empty() ? "SPX" : "SPX/NPS1";
  const bool nvidia = gpu.vendor == "nvidia";
  const Advice& spoken = nvidia ? mig_advice : advice;
  if (!is_known(gpu.compute_partition)) {
    return unknown(spoken, "unknown mode " + in_quotes(mode), label(gpu));
  }
  if (intent.empty() ? (!nvidia && mode == usual) : agrees(gpu, parse(intent))) {
    return passed(spoken, mode, label(gpu));
  }
  // Without an intent, the other mode may be deliberate.
  Finding finding = bad(!intent.empty(), spoken, mode, label(gpu));
  if (!intent.empty()) finding.wanted = intent;
  if (!nvidia) {
    finding.fix = fix_for(parse(intent.empty() ? usual : intent));
    if (intent.empty())
      finding.fix += fmt::format("; if this mode is intended: --partition {}", mode);
  }
  return finding;
}

/// Some GPUs show no mode: those before MI200, virtual functions, NVIDIA without MIG.
std::vector<Finding> run(const CheckContext& context) {
  std::vector<Finding> findings =
      for_each_gpu(context, [&](const Gpu& gpu) { return look(context, gpu); });
  if (findings.empty() && !context.intent.partition.empty()) {
    findings.push_back(unknown(advice, "no GPU shows a partition mode"));
    findings.back().wanted = context.intent.partition;
  }
  return findings;
}

const CheckRegistry::Add registered{{"partition-mode", "Partition mode", Topic::gpu, &run}};

}  // namespace
}  // namespace assay::partition_mode_check
