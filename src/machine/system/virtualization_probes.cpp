// Facts about containers and virtual machines that are not in files: the numbers of this process's
// namespaces, and the hypervisor's signature in the CPUID leaves reserved for it.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

#include "core/json.h"
#include "machine/system/probe.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace assay::virtualization_probes {
namespace {

/// Returns {"pid": 4026531836, ...}: the inode number in each link of /proc/self/ns
/// ("pid:[4026531836]").
Json ask_namespaces() {
  Json json = Json::object();
  for (const char* name : {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"}) {
    std::array<char, 64> target = {};
    const std::string link = fmt::format("/proc/self/ns/{}", name);
    const ssize_t length = readlink(link.c_str(), target.data(), target.size() - 1);
    const char* const number = length > 0 ? std::strchr(target.data(), '[') : nullptr;
    if (number != nullptr) json[name] = std::strtoull(number + 1, nullptr, 10);
  }
  return json;
}

/// Returns "KVMKVMKVM", "Microsoft Hv", "VMwareVMware" or "XenVMMXenVMM". It comes from leaf
/// 0x40000000, if bit 31 of ECX of leaf 1 reports a hypervisor (kernel:
/// Documentation/virt/kvm/x86/cpuid.rst).
Json ask_hypervisor() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & (1u << 31)) == 0) return {};
  __cpuid(0x40000000, eax, ebx, ecx, edx);
  std::array<char, 13> signature = {};
  std::memcpy(signature.data(), &ebx, 4);
  std::memcpy(signature.data() + 4, &ecx, 4);
  std::memcpy(signature.data() + 8, &edx, 4);
  std::string text;
  for (const char letter : signature) {
    if (letter >= ' ' && letter <= '~') text += letter;
  }
  return text;
#else
  return {};
#endif
}

const ProbeRegistry::Add registered_namespaces{{"namespaces", &ask_namespaces}};
const ProbeRegistry::Add registered_hypervisor{{"hypervisor", &ask_hypervisor}};

}  // namespace
}  // namespace assay::virtualization_probes
