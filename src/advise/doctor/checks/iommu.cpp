#include <fmt/format.h>

#include <set>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"
#include "advise/doctor/pci.h"

namespace assay::iommu_check {
namespace {

constexpr Advice advice = {
    .wanted = "pass-through (iommu=pt), or off",
    .why =
        "every DMA address is translated: slower host copies, and peer-to-peer traffic that can "
        "hang collectives",
    .source =
        "ROCm docs, MI300X system optimization: GRUB settings; RCCL's warning \"Missing "
        "iommu=pt\"; NCCL docs, Troubleshooting: PCI Access Control Services",
    .fix =
        "append iommu=pt to GRUB_CMDLINE_LINUX in /etc/default/grub (Intel: intel_iommu=on "
        "iommu=pt), then sudo update-grub (or grub2-mkconfig -o /boot/grub2/grub.cfg) and "
        "reboot"};

std::vector<Finding> run(const CheckContext& context) {
  if (context.gpus.empty()) return {};
  if (context.virtual_machine()) {
    return {unknown(advice, "a virtual machine does not see its host's IOMMU")};
  }
  const Machine& machine = context.machine;
  std::set<std::string> types;
  for (const Gpu& gpu : context.gpus) {
    const std::filesystem::path group = machine.resolve(pci_folder(gpu.pci) / "iommu_group");
    if (group.empty()) continue;
    const Reading type = read_setting(machine, group / "type");
    if (!type.text) return {unknown(advice, type.why_not)};
    types.insert(*type.text);
  }
  if (types.empty()) {
    if (!machine.exists(pci_folder(context.gpus.front().pci))) {
      return {unknown(advice, "the GPUs' folders in /sys/bus/pci/devices are not visible")};
    }
    return {passed(advice, "off: the GPUs are in no IOMMU group")};
  }
  const std::string found = fmt::format("{}", fmt::join(types, ", "));
  if (types == std::set<std::string>{"identity"}) {
    return {passed(advice, "pass-through (identity)")};
  }
  if (!found.starts_with("DMA") && !types.count("identity")) {
    return {unknown(advice, "unknown type of IOMMU domain: " + in_quotes(found))};
  }
  const bool peers = context.has("amd") && visible_gpus(context) > 1;
  return {bad(peers || context.intent.multi_node, advice, "translating (" + found + ")")};
}

const CheckRegistry::Add registered{{"iommu", "IOMMU mode", Topic::host, &run}};

}  // namespace
}  // namespace assay::iommu_check
