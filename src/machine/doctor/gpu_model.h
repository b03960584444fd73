// Which advice belongs to which GPU, and checks that look at one GPU after the other.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "machine/doctor/check.h"

namespace assay {

/// "gfx942"; from the PCI device id where KFD may not be read, as in a container without /dev/kfd.
std::string_view arch_of(const Gpu& gpu);
bool has_arch(const CheckContext& context, std::string_view arch);

/// MI300X, MI308X or MI325X, which the MI300X guides are about; not MI300A.
bool has_mi300x(const CheckContext& context);
/// Built for nodes in which 8 GPUs are fully meshed: MI300X and MI350 and their kind.
bool on_mesh_of_eight(const Gpu& gpu);

/// Not withheld by the compute driver, as far as is known.
bool is_visible(const Gpu& gpu);
int visible_gpus(const CheckContext& context);

/// What a runtime counts as a GPU: partitions, where GPUs are partitioned.
int count_devices(const std::vector<Gpu>& gpus);

/// How many GPUs of this node a job is to use: --gpus (a job over several nodes is spread evenly),
/// else those the environment variables leave visible, else all that are visible.
int gpus_used(const CheckContext& context);

/// What `look` says of each GPU, without those it has nothing to say about.
std::vector<Finding> for_each_gpu(const CheckContext& context,
                                  const std::function<std::optional<Finding>(const Gpu&)>& look);

}  // namespace assay
