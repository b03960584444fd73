#include "advise/doctor/gpu_model.h"

#include <algorithm>

#include "advise/doctor/hiding_variables.h"

namespace assay {
namespace {

bool is_mi300x(const Gpu& gpu) {
  constexpr std::string_view mi300a_id = "74a0";
  return arch_of(gpu) == "gfx942" && gpu.device_id != mi300a_id;
}

}  // namespace

std::string_view arch_of(const Gpu& gpu) {
  if (!gpu.arch.empty() || gpu.vendor != "amd") return gpu.arch;
  if (gpu.device_id.starts_with("74a") || gpu.device_id.starts_with("74b")) return "gfx942";
  if (gpu.device_id.starts_with("75a") || gpu.device_id.starts_with("75b")) return "gfx950";
  return {};
}

bool has_arch(const CheckContext& context, std::string_view arch) {
  return std::any_of(context.gpus.begin(), context.gpus.end(),
                     [&](const Gpu& gpu) { return arch_of(gpu) == arch; });
}

bool has_mi300x(const CheckContext& context) {
  return std::any_of(context.gpus.begin(), context.gpus.end(), is_mi300x);
}

bool on_mesh_of_eight(const Gpu& gpu) {
  return is_mi300x(gpu) || arch_of(gpu) == "gfx950";
}

bool is_visible(const Gpu& gpu) {
  return gpu.visible.value_or(true);
}

int visible_gpus(const CheckContext& context) {
  return static_cast<int>(std::count_if(context.gpus.begin(), context.gpus.end(), is_visible));
}

int count_devices(const std::vector<Gpu>& gpus) {
  std::size_t count = 0;
  for (const Gpu& gpu : gpus) {
    if (!is_visible(gpu)) continue;
    const bool partitioned = gpu.vendor == "amd" && gpu.compute_partition != "SPX";
    count += partitioned ? std::max<std::size_t>(gpu.device_files.size(), 1) : 1;
  }
  return static_cast<int>(count);
}

int gpus_used(const CheckContext& context) {
  const int wanted = context.intent.gpus;
  const int present = count_devices(context.gpus);
  if (wanted > present && present > 0 && context.intent.multi_node) {
    const int nodes = (wanted + present - 1) / present;
    return (wanted + nodes - 1) / nodes;
  }
  if (wanted > 0) return wanted;
  const int all = visible_gpus(context);
  const auto hiding = hiding_variables(context);
  return hiding.empty() ? all : std::min(all, hiding.back().left);
}

std::vector<Finding> for_each_gpu(const CheckContext& context,
                                  const std::function<std::optional<Finding>(const Gpu&)>& look) {
  std::vector<Finding> findings;
  for (const Gpu& gpu : context.gpus) {
    if (auto finding = look(gpu)) findings.push_back(std::move(*finding));
  }
  return findings;
}

}  // namespace assay
