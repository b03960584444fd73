// Divides a host's CPUs among the ranks that measure on them. If no launcher bound them, the ranks
// may all run on the same CPUs; each would start a thread on every CPU and wait for the others'
// threads.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "ranks/team/team.h"

namespace assay {

/// Sorts `cpus` so that the threads of one core and the cores of one package are neighbours. `root`
/// is where the machine's /sys is; a CPU without a topology there is sorted by its number.
std::vector<int> by_core(std::vector<int> cpus, const std::string& root = "/");

/// Returns part number `index` of `cpus`, divided into `parts` parts whose sizes differ by at most
/// one CPU. If there are fewer CPUs than parts, several parts share a CPU.
std::vector<int> share_of(const std::vector<int>& cpus, std::size_t index, std::size_t parts);

/// Confines the calling thread, and threads it starts later, to this rank's share of its CPUs, if
/// other ranks of its host may run on exactly the same ones. All ranks call it together. `on_cpu`
/// is whether this rank measures its CPUs. A rank that does not, or whose launcher allowed it
/// another set of CPUs, keeps its CPUs; so does one for which the kernel refuses. Error: as
/// Team::exchange.
Status divide_cpus(Team& team, bool on_cpu);

}  // namespace assay
