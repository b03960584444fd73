// Which names of hosts mean this machine.
#pragma once

#include <string>

namespace assay {

/// Whether `host`, a name or numeric address, perhaps after "USER@" as for ssh, means this machine:
/// it is its name or the first part of it, or it leads to loopback or to an address of this
/// machine. Asks the system's resolver, for ten seconds at most.
bool is_this_machine(const std::string& host);

}  // namespace assay
