#include "advise/occupancy/own_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compute/device/kernel_registry.h"
#include "core/suggest.h"

namespace assay::occupancy {

std::vector<OwnKernel> own_kernels() {
  // A set, because the CPU backend has each kernel in every instruction-set variant.
  std::set<std::pair<std::string, std::string>> names;
  for (const cpu::KernelEntry* entry = cpu::kernel_entries; entry != nullptr; entry = entry->next) {
    const std::string file = entry->file;
    names.emplace(file.substr(0, file.rfind('.')), entry->name);
  }
  std::vector<OwnKernel> kernels;
  for (const auto& [program, name] : names) kernels.push_back({program, name});
  return kernels;
}

Result<std::vector<OwnKernel>> own_kernels_named(const std::string& name) {
  std::vector<OwnKernel> kernels = own_kernels();
  if (name == "all") return kernels;
  std::vector<std::string> names;
  for (const OwnKernel& kernel : kernels) {
    if (kernel.name == name) return std::vector<OwnKernel>{kernel};
    names.push_back(kernel.name);
  }
  return Error{ErrorKind::usage, fmt::format("unknown kernel \"{}\"{}; allowed: all, {}", name,
                                             did_you_mean(name, names), fmt::join(names, ", "))};
}

Result<KernelReport> measure_kernel(const Device& device, Kernel& kernel, std::string name,
                                    const Geometry& geometry) {
  const DeviceFacts& facts = device.facts();
  if (facts.is_host_cpu()) {
    return Error{
        ErrorKind::unsupported,
        "cpu: occupancy has no meaning on a CPU, where a core runs one block at a time; choose "
        "an accelerator with --device"};
  }
  if (find_amd(facts.arch) == nullptr && find_nvidia(facts.arch) == nullptr) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{}:{}: no occupancy data for {}; known: {}", facts.backend,
                             facts.ordinal, facts.arch, known_archs())};
  }
  KernelReport report;
  report.geometry = geometry;
  const KernelResources resources = TRY(kernel.resources());
  report.use.name = std::move(name);
  report.use.vgprs = static_cast<unsigned>(std::max(resources.registers, 0));
  report.use.shared_bytes = static_cast<std::uint64_t>(std::max(resources.static_shared_bytes, 0));
  report.use.scratch_bytes = static_cast<std::uint64_t>(std::max(resources.local_bytes, 0));
  report.use.max_threads = static_cast<unsigned>(std::max(resources.max_threads_per_block, 0));
  compute(report, facts.arch);
  const auto dynamic = static_cast<unsigned>(geometry.dynamic_shared);
  if (dynamic > 0) TRY(kernel.allow_dynamic_shared(dynamic));
  report.driver_groups =
      TRY(kernel.blocks_per_multiprocessor(static_cast<int>(geometry.threads), dynamic));
  return report;
}

bool driver_agrees(const KernelReport& kernel, std::string_view arch) {
  if (!kernel.driver_groups || !kernel.occupancy) return false;
  unsigned expected = kernel.occupancy->groups;
  if (const AmdLimits* limits = find_amd(arch)) {
    AmdLimits as_queried = *limits;
    as_queried.lds_granule = 1;
    expected = occupancy_of(as_queried, kernel.use, kernel.geometry).groups;
  }
  return *kernel.driver_groups >= 0 && static_cast<unsigned>(*kernel.driver_groups) == expected;
}

}  // namespace assay::occupancy
