#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"

namespace assay::gpu_links_check {
namespace {

constexpr Advice advice = {
    .wanted = "every link up; every GPU with the same number of links at the same speed",
    .why = "collectives run at the pace of the weakest link, or fall back to PCIe",
    .source =
        "ROCm docs, MI300X system optimization: Hardware verification (every pair one hop of "
        "XGMI); RCCL, Use all eight GPUs; nvidia-smi man page, nvlink",
    .fix = {}};

const char* fix_for(const Gpu& gpu) {
  return gpu.vendor == "nvidia" ? "nvidia-smi nvlink --status; systemctl status "
                                  "nvidia-fabricmanager; reset the GPUs, then ask for service"
                                : "amd-smi xgmi; sudo dmesg | grep -i xgmi; power-cycle the node, "
                                  "then ask for service";
}

struct Links {
  int up = 0, down = 0;
  double bytes_per_second = 0;  ///< total rate of the links that are up
  std::set<std::string> peers;
};

Links links_of(const Gpu& gpu) {
  Links links;
  for (const PeerLink& link : gpu.links) {
    ++(link.up ? links.up : links.down);
    if (!link.up) continue;
    links.bytes_per_second += link.bytes_per_second.value_or(0);
    links.peers.insert(link.peer);
  }
  return links;
}

/// The GPUs to which a direct link is missing; on AMD's mesh every GPU has one to every other GPU.
std::string missing_peers(const CheckContext& context, const Gpu& gpu, const Links& links) {
  std::vector<std::string> missing;
  for (const Gpu& other : context.gpus) {
    if (other.vendor == gpu.vendor && other.pci != gpu.pci && is_visible(other) &&
        links.peers.count(other.pci) == 0) {
      missing.push_back(fmt::format("GPU {}", other.index));
    }
  }
  return fmt::format("{}", fmt::join(missing, ", "));
}

bool is_mesh(const Gpu& gpu) {
  const std::string_view arch = arch_of(gpu);
  return arch == "gfx942" || arch == "gfx950";
}

Finding look(const CheckContext& context, const Gpu& gpu, const Links& most) {
  const Links links = links_of(gpu);
  const std::string type = gpu.vendor == "amd" ? "xGMI" : "NVLink";
  const auto broken = [&](const std::string& found) {
    Finding finding = failed(advice, found, label(gpu));
    finding.fix = fix_for(gpu);
    return finding;
  };
  if (links.down > 0) {
    return broken(fmt::format("{} of {} {} links down", links.down, links.up + links.down, type));
  }
  if (is_mesh(gpu)) {
    const std::string missing = missing_peers(context, gpu, links);
    if (!missing.empty()) return broken(fmt::format("no {} link to {}", type, missing));
  }
  if (links.up < most.up) {
    return broken(fmt::format("{} {} links, others have {}", links.up, type, most.up));
  }
  constexpr double rounding = 0.99;
  if (links.bytes_per_second < rounding * most.bytes_per_second) {
    return broken(fmt::format("links of {:.0f} GB/s in all, others have {:.0f} GB/s",
                              links.bytes_per_second / 1e9, most.bytes_per_second / 1e9));
  }
  return passed(advice, fmt::format("{} {} links up", links.up, type), label(gpu));
}

std::vector<Finding> findings_of(const CheckContext& context, std::string_view vendor) {
  Links most;
  std::vector<const Gpu*> gpus;  // the visible GPUs
  for (const Gpu& gpu : context.gpus) {
    if (gpu.vendor != vendor || !is_visible(gpu)) continue;
    gpus.push_back(&gpu);
    const Links links = links_of(gpu);
    most.up = std::max(most.up, links.up);
    most.down = std::max(most.down, links.down);
    most.bytes_per_second = std::max(most.bytes_per_second, links.bytes_per_second);
  }
  if (gpus.size() < 2) return {};
  if (most.up == 0 && most.down == 0) {
    // PCIe cards may have no links. Instinct modules without links are faulty, or their links are
    // hidden from this process.
    if (!std::any_of(gpus.begin(), gpus.end(), [](const Gpu* gpu) { return is_mesh(*gpu); })) {
      return {};
    }
    return {unknown(advice, context.virtual_machine()
                                ? "a virtual machine shows no xGMI links"
                                : "no xGMI links in /sys/class/kfd: without access to /dev/kfd "
                                  "they are hidden")};
  }
  std::vector<Finding> findings;
  for (const Gpu* gpu : gpus) findings.push_back(look(context, *gpu, most));
  return findings;
}

std::vector<Finding> run(const CheckContext& context) {
  std::vector<Finding> findings = findings_of(context, "amd");
  for (Finding& finding : findings_of(context, "nvidia")) findings.push_back(std::move(finding));
  for (const Gpu& gpu : context.gpus) {
    if (is_visible(gpu)) continue;
    findings.push_back(
        unknown(advice, "KFD hides it: outside this process's control group", label(gpu)));
  }
  return findings;
}

const CheckRegistry::Add registered{{"gpu-links", "xGMI and NVLink", Topic::link, &run}};

}  // namespace
}  // namespace assay::gpu_links_check
