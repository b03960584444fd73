// Whether a machine is a container, a virtual machine, or both, from what an unprivileged process
// can see.
#pragma once

#include <string>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

struct Virtualization {
  /// "docker", "podman", "containerd", "kubernetes", "apptainer", "lxc", "systemd-nspawn",
  /// "bubblewrap", "flatpak", "wsl", "chroot"; "unnamed" for namespaces nobody signed; empty: none.
  std::string container;
  /// What made that out: "/.dockerenv".
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
