// Divides a host's CPUs among the ranks that measure on them. Ranks that may all run on the same
// CPUs, because no launcher bound them, would each start a thread on every CPU and wait for the
// others' threads.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "ranks/team/team.h"

namespace assay {

/// `cpus` such that the threads of one core and the cores of one package are neighbours. `root`:
/// where the machine's /sys is; a CPU without a topology there keeps its place by number.
std::vector<int> by_core(std::vector<int> cpus, const std::string& root = "/");

/// The part of `cpus` for number `index` of `parts` parts that differ by at most one CPU; where
/// there are fewer CPUs than parts, several parts have the same one.
std::vector<int> share_of(const std::vector<int>& cpus, std::size_t index, std::size_t parts);

/// Confines the calling thread, and those it starts later, to this rank's share of the CPUs that
/// ranks of its host have in common. All ranks call it together. `on_cpu`: whether this rank
/// measures its CPUs; a rank that does not, or that a launcher has bound to CPUs of its own, keeps
/// them. Error: as Team::exchange.
Status divide_cpus(Team& team, bool on_cpu);

}  // namespace assay
