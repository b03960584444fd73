// Recognizes host names that mean this machine.
#pragma once

#include <string>

namespace assay {

/// Returns whether `host` means this machine: a name or numeric address, possibly after "USER@" as
/// for ssh. The answer is yes for the machine's name, for the first
/// part of that name, and for what leads to loopback or to one of the machine's addresses. Asks the
/// system's resolver, for at most ten seconds.
bool is_this_machine(const std::string& host);

}  // namespace assay
