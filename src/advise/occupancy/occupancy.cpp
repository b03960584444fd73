#include "advise/occupancy/occupancy.h"

#include <algorithm>
#include <functional>

namespace assay::occupancy {
namespace {

std::uint64_t round_up(std::uint64_t value, std::uint64_t granule) {
  return (value + granule - 1) / granule * granule;
}

/// A resource of a kernel. `groups` never increases with the amount, so a binary search finds where
/// one more group fits.
struct Resource {
  std::string name;
  std::uint64_t used = 0;
  bool can_save = true;
  std::function<unsigned(std::uint64_t amount)> groups;
};

Resource fixed(std::string name, unsigned groups) {
  return {std::move(name), 0, false, [groups](std::uint64_t) { return groups; }};
}

/// The smallest saving with which `target` groups fit; nullopt if they do not fit even with an
/// amount of 0.
std::optional<std::uint64_t> saving_for(const Resource& resource, unsigned target) {
  if (!resource.can_save || resource.groups(0) < target) return std::nullopt;
  std::uint64_t fits = 0, too_much = resource.used;
  while (too_much - fits > 1) {
    const std::uint64_t middle = fits + (too_much - fits) / 2;
    (resource.groups(middle) >= target ? fits : too_much) = middle;
  }
  return resource.used - fits;
}

/// The resources that limit the groups. Fixed limits come first, because saving another resource
/// does not help against them.
std::string limiter_of(const std::vector<Resource>& resources,
                       const std::vector<WorkgroupLimit>& limits, unsigned groups) {
  std::string names;
  for (const bool can_save : {false, true}) {
    for (std::size_t i = 0; i < resources.size(); ++i) {
      if (resources[i].can_save == can_save && limits[i].groups == groups) {
        names += (names.empty() ? "" : " and ") + limits[i].resource;
      }
    }
    if (!names.empty()) break;
  }
  return names;
}

Occupancy combine(const std::vector<Resource>& resources, unsigned waves_per_group,
                  unsigned wave_slots) {
  Occupancy result;
  result.waves_per_group = waves_per_group;
  result.wave_slots = wave_slots;
  result.groups = unlimited;
  for (const Resource& resource : resources) {
    result.limits.push_back({resource.name, resource.groups(resource.used)});
    result.groups = std::min(result.groups, result.limits.back().groups);
  }
  result.limiter = limiter_of(resources, result.limits, result.groups);
  result.next_groups = unlimited;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    unsigned groups = result.limits[i].groups;
    if (groups == result.groups) {
      const auto amount = saving_for(resources[i], result.groups + 1);
      if (!amount) {
        result.savings.clear();
        result.next_groups = result.groups;
        break;
      }
      result.savings.push_back({resources[i].name, *amount});
      groups = resources[i].groups(resources[i].used - *amount);
    }
    result.next_groups = std::min(result.next_groups, groups);
  }
  return result;
}

}  // namespace

Occupancy occupancy_of(const AmdLimits& limits, const KernelUse& use, const Geometry& geometry) {
  const unsigned waves = (geometry.threads + amd_wave - 1) / amd_wave;
  // Waves are assigned to the SIMDs in turn, and each group continues where the last one ended. So
  // a compute unit holds 4 x (waves per SIMD) waves for any size of group.
  const auto by_registers = [waves](unsigned file, unsigned granule) {
    return [=](std::uint64_t amount) {
      const std::uint64_t allocated = round_up(std::max<std::uint64_t>(amount, 1), granule);
      return static_cast<unsigned>(file / allocated * simds / waves);
    };
  };
  const std::uint64_t bytes = use.shared_bytes + geometry.dynamic_shared;
  const auto by_lds = [&limits](std::uint64_t amount) {
    if (amount == 0) return unlimited;
    return static_cast<unsigned>(limits.lds_bytes / round_up(amount, limits.lds_granule));
  };
  const unsigned slots = amd_waves_per_simd * simds;
  std::vector<Resource> resources = {
      {"VGPRs", use.vgprs, true, by_registers(amd_vgprs, amd_vgpr_granule)},
      {"SGPRs", use.sgprs, true, by_registers(amd_sgprs, amd_sgpr_granule)},
      {"LDS", bytes, true, by_lds},
      fixed("wave slots", slots / waves)};
  // A group of one wave needs no barrier.
  if (waves > 1) resources.push_back(fixed("barriers", amd_barriers));
  return combine(resources, waves, slots);
}

std::uint64_t reserved_shared(const NvidiaLimits& limits) {
  return limits.major >= 8 ? 1024 : 0;
}

Occupancy occupancy_of(const NvidiaLimits& limits, const KernelUse& use, const Geometry& geometry) {
  const unsigned warps = (geometry.threads + nvidia_warp - 1) / nvidia_warp;
  const auto by_registers = [warps](std::uint64_t amount) -> unsigned {
    if (amount == 0) return unlimited;
    if (amount > nvidia_registers_per_thread) return 0;
    const std::uint64_t per_warp = round_up(amount * nvidia_warp, nvidia_register_granule);
    // Each sub-partition has its share. The hardware's launch check, which treats a block's warps
    // as if they filled all sub-partitions, rejects nothing that passes here.
    return static_cast<unsigned>(nvidia_registers / simds / per_warp * simds / warps);
  };
  const std::uint64_t bytes = use.shared_bytes + geometry.dynamic_shared;
  const auto by_shared = [&limits](std::uint64_t amount) -> unsigned {
    if (amount > limits.shared_opt_in) return 0;
    const std::uint64_t granule = limits.major >= 8 ? 128 : 256;
    const std::uint64_t allocated = round_up(amount + reserved_shared(limits), granule);
    return allocated == 0 ? unlimited : static_cast<unsigned>(limits.shared_bytes / allocated);
  };
  std::vector<Resource> resources = {{"registers", use.vgprs, true, by_registers},
                                     {"shared memory", bytes, true, by_shared},
                                     fixed("warp slots", limits.warps / warps),
                                     fixed("block slots", limits.blocks)};
  if (limits.barriers > 0 && use.barriers > 0) {
    resources.push_back(fixed("barriers", limits.barriers / use.barriers));
  }
  return combine(resources, warps, limits.warps);
}

}  // namespace assay::occupancy
