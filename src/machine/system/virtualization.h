// Detects whether a machine is a container, a virtual machine, or both, as far as an unprivileged
// process can tell.
#pragma once

#include <string>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

struct Virtualization {
  /// One of "docker", "podman", "containerd", "kubernetes", "apptainer", "lxc", "systemd-nspawn",
  /// "bubblewrap", "flatpak", "wsl" and "chroot", or "unnamed" for separate namespaces without
  /// other signs; empty: none.
  std::string container;
  /// The evidence: "/.dockerenv".
  std::string container_evidence;
  /// Namespaces that are not the machine's initial ones: {"mnt", "pid"}.
  std::vector<std::string> namespaces;
  /// One of "kvm", "firecracker", "xen", "hyper-v", "vmware", "qemu", "unknown"; empty: none.
  std::string hypervisor;
  std::string hypervisor_evidence;
  std::string cloud;  ///< "Amazon EC2", "Google", "Microsoft Azure"; empty: none known
};

Virtualization read_virtualization(const Machine& machine);

}  // namespace assay
