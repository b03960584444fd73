// Decides which advice applies to which GPU, and helps checks to examine one GPU after the other.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "advise/doctor/check.h"

namespace assay {

/// Returns the architecture, such as "gfx942", valid as long as `gpu`; empty if it is unknown. If
/// AMD's compute driver (KFD) is unreadable, as in a container without /dev/kfd, it is derived from
/// the PCI device id of MI300 and MI350 series GPUs.
std::string_view arch_of(const Gpu& gpu);
/// Returns whether any GPU has this architecture.
bool has_arch(const CheckContext& context, std::string_view arch);

/// Returns whether there is an MI300X, MI308X or MI325X, the subject of the MI300X guides; MI300A
/// does not count.
bool has_mi300x(const CheckContext& context);
/// Returns whether the GPU is built for nodes with a full mesh of 8 GPUs, as are the MI300X and
/// MI350 series.
bool on_mesh_of_eight(const Gpu& gpu);

/// Returns Gpu::visible; true if it is unknown.
bool is_visible(const Gpu& gpu);
int visible_gpus(const CheckContext& context);

/// Returns how many devices the visible ones of these GPUs are for a runtime. Each partition of an
/// AMD GPU is a device; a GPU with MIG slices counts as one.
int count_devices(const std::vector<Gpu>& gpus);

/// Returns the number of GPUs of this node that a job will use. If Intent::gpus is set, it is that
/// number. If the job may span nodes and needs more GPUs than this node has, it is their share of
/// each of as few nodes as possible. Without Intent::gpus, it is the number of visible GPUs that
/// environment variables do not hide.
int gpus_used(const CheckContext& context);

/// Returns the findings of `look` for each GPU, visible or not, skipping GPUs without a finding.
std::vector<Finding> for_each_gpu(const CheckContext& context,
                                  const std::function<std::optional<Finding>(const Gpu&)>& look);

}  // namespace assay
