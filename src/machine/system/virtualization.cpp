#include "machine/system/virtualization.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>

#include "core/json.h"
#include "machine/system/fact_source.h"

namespace assay {
namespace {

/// Facts from /proc/self/mountinfo, whose lines look like "27 1 254:0 / / rw,relatime - ext4
/// /dev/vda rw".
struct Mounts {
  bool known = false;
  bool root = false;        ///< "/" is a mount point
  bool hosts_file = false;  ///< /etc/hosts is a mount point, as in containers
  std::string root_folder;  ///< the folder of its file system that is mounted on "/"
  std::string root_rest;    ///< type, device and options; overlays list their layers there
};

Mounts read_mounts(const Machine& machine) {
  Mounts mounts;
  mounts.known = machine.read("proc/self/mountinfo").state == FileState::found;
  std::istringstream lines(machine.read("proc/self/mountinfo").text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string id, parent, device, source, target;
    words >> id >> parent >> device >> source >> target;
    if (target == "/etc/hosts") mounts.hosts_file = true;
    if (target != "/") continue;
    const std::size_t dash = line.find(" - ");
    mounts.root = true;  // the last of several mounts is on top
    mounts.root_folder = source;
    mounts.root_rest = dash == std::string::npos ? std::string() : line.substr(dash + 3);
  }
  return mounts;
}

/// Returns whether a namespace was created at boot. Its number is fixed below 0xF0000000
/// (include/linux/proc_ns.h); for mnt and net on older kernels it is among the first numbers
/// assigned.
bool is_first_namespace(std::uint64_t number) {
  return number < 0xF0000000u + 16;
}

/// Every container has a separate mount namespace. A process in the machine's initial one is in no
/// container, even if an image left marker files or a parent left variables.
bool has_first_mounts(const Machine& machine) {
  const Json numbers = machine.ask("namespaces");
  const auto mounts = numbers.is_object() ? numbers.find("mnt") : numbers.end();
  return numbers.is_object() && mounts != numbers.end() && mounts->is_number_unsigned() &&
         is_first_namespace(mounts->get<std::uint64_t>());
}

std::vector<std::string> own_namespaces(const Machine& machine) {
  std::vector<std::string> own;
  const Json numbers = machine.ask("namespaces");
  if (!numbers.is_object()) return own;
  for (const auto& [name, number] : numbers.items()) {
    if (number.is_number_unsigned() && !is_first_namespace(number.get<std::uint64_t>())) {
      own.push_back(name);
    }
  }
  return own;
}

struct Evidence {
  std::string name, evidence;
};

/// Finds marks that container engines leave deliberately. `mounts` distinguishes a container from a
/// machine whose disk was made from a container image: the disk has the file but not the mounts.
Evidence signed_container(const Machine& machine, const Mounts& mounts) {
  const auto variable = [&](const char* name) { return machine.has_variable(name); };
  if (variable("KUBERNETES_SERVICE_HOST")) return {"kubernetes", "KUBERNETES_SERVICE_HOST is set"};
  if (machine.exists("run/secrets/kubernetes.io")) {
    return {"kubernetes", "/run/secrets/kubernetes.io"};
  }
  if (machine.exists(".singularity.d")) return {"apptainer", "/.singularity.d"};
  if (variable("APPTAINER_CONTAINER")) return {"apptainer", "APPTAINER_CONTAINER is set"};
  if (machine.exists("run/.containerenv")) return {"podman", "/run/.containerenv"};
  if (machine.exists(".dockerenv") && (mounts.hosts_file || !mounts.known))
    return {"docker", "/.dockerenv"};
  if (machine.exists(".flatpak-info")) return {"flatpak", "/.flatpak-info"};
  if (const auto manager = read_fact(machine, "run/systemd/container")) {
    return {*manager, "/run/systemd/container"};
  }
  if (const auto named = machine.variables().find("container");
      named != machine.variables().end() && !named->second.empty()) {
    return {named->second, "the variable container"};
  }
  if (machine.exists("proc/sys/fs/binfmt_misc/WSLInterop") || variable("WSL_DISTRO_NAME")) {
    return {"wsl", "WSL"};
  }
  return {};
}

/// Finds signs that a container cannot hide: names in the control group of process 1, the layers of
/// an overlay, bubblewrap's new root.
Evidence unsigned_container(const Machine& machine, const Mounts& mounts) {
  struct Mark {
    const char* text;
    const char* name;
  };
  constexpr std::array<Mark, 8> marks = {{{"kubepods", "kubernetes"},
                                          {"/var/lib/docker/", "docker"},
                                          {"docker", "docker"},
                                          {"libpod", "podman"},
                                          {"containers/storage", "podman"},
                                          {"containerd", "containerd"},
                                          {"lxc", "lxc"},
                                          {"machine.slice/machine-", "systemd-nspawn"}}};
  const std::string groups = read_fact(machine, "proc/1/cgroup").value_or("");
  for (const Mark& mark : marks) {
    if (groups.find(mark.text) != std::string::npos) return {mark.name, "/proc/1/cgroup"};
  }
  for (const Mark& mark : marks) {
    if (mounts.root_rest.find(mark.text) != std::string::npos) return {mark.name, "the mount of /"};
  }
  if (mounts.root_folder == "/newroot") return {"bubblewrap", "/ is mounted from /newroot"};
  if (mounts.known && !mounts.root) return {"chroot", "/ is no mount point"};
  return {};
}

/// If bubblewrap shares the machine's process namespace, it is visible only among this process's
/// ancestors.
bool started_by_bubblewrap(const Machine& machine) {
  constexpr int most_steps = 32;
  std::string status = machine.read("proc/self/status").text;
  for (int step = 0; step < most_steps; ++step) {
    const std::string parent = line_value(status, "PPid").value_or("");
    const bool number = !parent.empty() && parent.size() <= 10 &&
                        parent.find_first_not_of("0123456789") == std::string::npos;
    if (!number || parent == "0") return false;
    status = machine.read("proc/" + parent + "/status").text;
    if (line_value(status, "Name") == "bwrap") return true;
  }
  return false;
}

Evidence hypervisor(const Machine& machine) {
  struct Mark {
    const char* text;
    const char* name;
  };
  constexpr std::array<Mark, 6> signatures = {{{"KVMKVMKVM", "kvm"},
                                               {"Microsoft Hv", "hyper-v"},
                                               {"VMwareVMware", "vmware"},
                                               {"XenVMMXenVMM", "xen"},
                                               {"TCGTCGTCGTCG", "qemu"},
                                               {"bhyve bhyve", "bhyve"}}};
  // Firecracker has KVM's signature and no DMI tables; its guests are booted with this option.
  const std::string started = read_fact(machine, "proc/cmdline").value_or("");
  if (started.find("firecracker") != std::string::npos ||
      (started.find("virtio_mmio.device=") != std::string::npos &&
       started.find("pci=off") != std::string::npos)) {
    return {"firecracker", "/proc/cmdline"};
  }
  if (const auto type = read_fact(machine, "sys/hypervisor/type")) {
    return {*type, "/sys/hypervisor/type"};
  }
  const Json signature = machine.ask("hypervisor");
  if (signature.is_string()) {
    for (const Mark& mark : signatures) {
      if (signature.get<std::string>().starts_with(mark.text)) return {mark.name, "CPUID"};
    }
  }
  constexpr std::array<Mark, 5> boards = {{{"QEMU", "kvm"},
                                           {"KVM", "kvm"},
                                           {"VMware", "vmware"},
                                           {"Microsoft Corporation Virtual", "hyper-v"},
                                           {"Xen", "xen"}}};
  const std::string board = read_fact(machine, "sys/class/dmi/id/sys_vendor").value_or("") + " " +
                            read_fact(machine, "sys/class/dmi/id/product_name").value_or("");
  for (const Mark& mark : boards) {
    if (board.find(mark.text) != std::string::npos) return {mark.name, "/sys/class/dmi/id"};
  }
  const std::string flags =
      line_value(machine.read("proc/cpuinfo").text, "flags").value_or("") + " ";
  if (flags.find(" hypervisor ") != std::string::npos) return {"unknown", "/proc/cpuinfo"};
  return {};
}

std::string cloud(const Machine& machine) {
  const std::string vendor = read_fact(machine, "sys/class/dmi/id/sys_vendor").value_or("");
  for (const char* name : {"Amazon EC2", "Google", "OpenStack", "DigitalOcean", "Hetzner"}) {
    if (vendor.find(name) != std::string::npos) return name;
  }
  // Every Azure machine has this asset tag.
  if (read_fact(machine, "sys/class/dmi/id/chassis_asset_tag") ==
      "7783-7084-3265-9085-8269-3286-77") {
    return "Microsoft Azure";
  }
  return {};
}

}  // namespace

Virtualization read_virtualization(const Machine& machine) {
  Virtualization result;
  const Mounts mounts = read_mounts(machine);
  Evidence container;
  // This is checked first, because bubblewrap usually shows the machine's files, including marks of
  // other containers.
  if (read_fact(machine, "proc/1/comm") == "bwrap")
    container = {"bubblewrap", "process 1 is bwrap"};
  if (container.name.empty()) container = signed_container(machine, mounts);
  if (container.name.empty()) container = unsigned_container(machine, mounts);
  if (has_first_mounts(machine) && container.name != "chroot" && container.name != "wsl") {
    container = {};
  }
  result.namespaces = own_namespaces(machine);
  const auto own = [&](std::string_view name) {
    return std::find(result.namespaces.begin(), result.namespaces.end(), name) !=
           result.namespaces.end();
  };
  if (container.name.empty() && own("mnt") && started_by_bubblewrap(machine)) {
    container = {"bubblewrap", "an ancestor is bwrap"};
  }
  // A network or mount namespace alone is common on hosts (PrivateTmp of a service); a pid or user
  // namespace is not.
  if (container.name.empty() && (own("pid") || own("user"))) {
    container = {"unnamed", "namespaces of its own"};
  }
  result.container = container.name;
  result.container_evidence = container.evidence;
  const Evidence guest = hypervisor(machine);
  result.hypervisor = guest.name;
  result.hypervisor_evidence = guest.evidence;
  result.cloud = cloud(machine);
  return result;
}

}  // namespace assay
