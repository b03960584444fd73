// Recognizes host names that mean this machine.
#pragma once

#include <string>

namespace assay {

/// Returns whether `host` means this machine. It is a name or numeric address, possibly after
/// "USER@" as for ssh. It means this machine if it is its name or the first part of it, or leads to
/// loopback or to one of its addresses. Asks the system's resolver, for at most ten seconds.
bool is_this_machine(const std::string& host);

}  // namespace assay
