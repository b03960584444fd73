// Hints that this is a container or a virtual machine, from what an unprivileged process can see.
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "system/fact_source.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> container(const fs::path& root) {
  std::error_code ignored;
  if (const auto manager = read_fact(root, "run/systemd/container")) return manager;
  if (fs::exists(root / "run/.containerenv", ignored)) return "podman";
  if (fs::exists(root / ".dockerenv", ignored)) return "docker";
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "kubernetes";
  const std::string groups = read_fact(root, "proc/1/cgroup").value_or("");
  for (const char* name : {"kubepods", "docker", "containerd", "lxc", "libpod"}) {
    if (groups.find(name) != std::string::npos) return name;
  }
  return std::nullopt;
}

/// The vendor in the board's tables; else the bare flag that every guest's CPU carries.
std::optional<std::string> hypervisor(const fs::path& root) {
  if (const auto type = read_fact(root, "sys/hypervisor/type")) return type;
  const std::string board = read_fact(root, "sys/class/dmi/id/sys_vendor").value_or("") + " " +
                            read_fact(root, "sys/class/dmi/id/product_name").value_or("");
  constexpr std::array<std::pair<const char*, const char*>, 7> vendors = {
      {{"QEMU", "kvm"},
       {"KVM", "kvm"},
       {"VMware", "vmware"},
       {"Microsoft Corporation Virtual", "hyper-v"},
       {"Xen", "xen"},
       {"Amazon EC2", "amazon-ec2"},
       {"Google Compute Engine", "google-compute"}}};
  for (const auto& [mark, name] : vendors) {
    if (board.find(mark) != std::string::npos) return name;
  }
  const std::string info = read_fact(root, "proc/cpuinfo").value_or("");
  if (line_value(info, "flags").value_or("").find("hypervisor") != std::string::npos)
    return "unknown";
  return std::nullopt;
}

Json read_virtualization(const fs::path& root) {
  Json json = Json::object();
  put_fact(json, "container", container(root));
  put_fact(json, "hypervisor", hypervisor(root));
  return json;
}

const FactRegistry::Add registered{{"virtualization", &read_virtualization}};

}  // namespace
}  // namespace assay
