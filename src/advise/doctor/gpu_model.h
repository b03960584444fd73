// Which advice applies to which GPU, and checks that examine one GPU after the other.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "advise/doctor/check.h"

namespace assay {

/// "gfx942"; from the PCI device id if KFD is unreadable, as in a container without /dev/kfd.
std::string_view arch_of(const Gpu& gpu);
bool has_arch(const CheckContext& context, std::string_view arch);

/// MI300X, MI308X or MI325X, the subject of the MI300X guides; not MI300A.
bool has_mi300x(const CheckContext& context);
/// Built for nodes with a full mesh of 8 GPUs: the MI300X and MI350 series.
bool on_mesh_of_eight(const Gpu& gpu);

/// Not withheld by the compute driver, as far as known.
bool is_visible(const Gpu& gpu);
int visible_gpus(const CheckContext& context);

/// What a runtime counts as a GPU: a partition, if GPUs are partitioned.
int count_devices(const std::vector<Gpu>& gpus);

/// How many GPUs of this node a job will use: --gpus (divided evenly over the nodes of a job), else
/// those that the environment variables leave visible, else all visible ones.
int gpus_used(const CheckContext& context);

/// The findings of `look` for each GPU, skipping GPUs without a finding.
std::vector<Finding> for_each_gpu(const CheckContext& context,
                                  const std::function<std::optional<Finding>(const Gpu&)>& look);

}  // namespace assay
