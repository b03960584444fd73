// Whether a machine is a container, a virtual machine, or both, as far as an unprivileged process
// can tell.
#pragma once

#include <string>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

struct Virtualization {
  /// "docker", "podman", "containerd", "kubernetes", "apptainer", "lxc", "systemd-nspawn",
  /// "bubblewrap", "flatpak", "wsl", "chroot"; "unnamed" for own namespaces without other signs;
  /// empty: none.
  std::string container;
  /// How that was detected: "/.dockerenv".
  std::string container_evidence;
  /// Namespaces that are not the machine's first ones: {"mnt", "pid"}.
  std::vector<std::string> namespaces;
  /// "kvm", "firecracker", "xen", "hyper-v", "vmware", "qemu", "unknown"; empty: none.
  std::string hypervisor;
  std::string hypervisor_evidence;
  std::string cloud;  ///< "Amazon EC2", "Google", "Microsoft Azure"; empty: none known
};

Virtualization read_virtualization(const Machine& machine);

}  // namespace assay
