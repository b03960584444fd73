// Detects whether a machine is a container, a virtual machine, or both, as far as an unprivileged
// process can tell.
#pragma once

#include <string>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

struct Virtualization {
  /// "docker", "podman", "containerd", "kubernetes", "apptainer", "lxc", "systemd-nspawn",
  /// "bubblewrap", "flatpak", "wsl", "chroot", or the name that a container manager gives in
  /// /run/systemd/container or the variable `container`. "unnamed" stands for a separate
  /// namespace of processes or users without other signs; empty: none.
  std::string container;
  /// The evidence: "/.dockerenv".
  std::string container_evidence;
  /// Namespaces that are not the machine's initial ones: {"mnt", "pid"}.
  std::vector<std::string> namespaces;
  /// "kvm", "firecracker", "xen", "hyper-v", "vmware", "qemu", "bhyve", the text of
  /// /sys/hypervisor/type, or "unknown" if only the CPU's flags show one; empty: none.
  std::string hypervisor;
  std::string hypervisor_evidence;
  /// "Amazon EC2", "Google", "OpenStack", "DigitalOcean", "Hetzner" or "Microsoft Azure"; empty:
  /// none of these.
  std::string cloud;
};

Virtualization read_virtualization(const Machine& machine);

}  // namespace assay
