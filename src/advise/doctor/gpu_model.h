// Decides which advice applies to which GPU, and helps checks to examine one GPU after the other.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "advise/doctor/check.h"

namespace assay {

/// The architecture, such as "gfx942". It is derived from the PCI device id if KFD is unreadable,
/// as in a container without /dev/kfd.
std::string_view arch_of(const Gpu& gpu);
bool has_arch(const CheckContext& context, std::string_view arch);

/// Returns whether there is an MI300X, MI308X or MI325X, the subject of the MI300X guides; MI300A
/// does not count.
bool has_mi300x(const CheckContext& context);
/// Returns whether the GPU is built for nodes with a full mesh of 8 GPUs, as are the MI300X and
/// MI350 series.
bool on_mesh_of_eight(const Gpu& gpu);

/// Returns whether the compute driver exposes the GPU; true if this is unknown.
bool is_visible(const Gpu& gpu);
int visible_gpus(const CheckContext& context);

/// The number of devices that a runtime sees; if GPUs are partitioned, each partition is a device.
int count_devices(const std::vector<Gpu>& gpus);

/// The number of GPUs of this node that a job will use: --gpus (divided evenly over the nodes of a
/// job), otherwise those that environment variables leave visible, otherwise all visible ones.
int gpus_used(const CheckContext& context);

/// The findings of `look` for each GPU, skipping GPUs without a finding.
std::vector<Finding> for_each_gpu(const CheckContext& context,
                                  const std::function<std::optional<Finding>(const Gpu&)>& look);

}  // namespace assay
