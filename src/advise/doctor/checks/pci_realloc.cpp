#include <algorithm>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"

namespace assay::pci_realloc_check {
namespace {

constexpr Advice advice = {
    .wanted = "pci=realloc=off in the kernel's command line",
    .why =
        "when the kernel reassigns PCI resources, GPUs can lose their BARs and be missing after "
        "boot",
    .source = "ROCm docs, MI300X system optimization: GRUB settings",
    .fix =
        "append pci=realloc=off to GRUB_CMDLINE_LINUX in /etc/default/grub, then sudo "
        "update-grub (or grub2-mkconfig -o /boot/grub2/grub.cfg) and reboot"};

/// Whether a kernel argument turns reallocation off, also in a list such as
/// "pci=noaer,realloc=off".
bool turns_off(std::string_view word) {
  return word.starts_with("pci=") && word.find("realloc=off") != std::string_view::npos;
}

std::vector<Finding> run(const CheckContext& context) {
  if (!has_mi300x(context) || context.virtual_machine()) return {};
  const Reading reading = read_setting(context.machine, "proc/cmdline");
  if (!reading.text) return {unknown(advice, reading.why_not)};
  const std::vector<std::string_view> all = words(*reading.text);
  const bool off = std::any_of(all.begin(), all.end(), turns_off);
  return {off ? passed(advice, "set") : warned(advice, "not set")};
}

const CheckRegistry::Add registered{{"pci-realloc", "PCI reallocation", Topic::host, &run}};

}  // namespace
}  // namespace assay::pci_realloc_check
