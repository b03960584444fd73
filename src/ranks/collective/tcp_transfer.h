// Messages over TCP links, all at once: no order of sends and receives can make two ranks wait for
// each other.
#pragma once

#include <span>

#include "ranks/collective/communicator.h"
#include "ranks/collective/tcp_links.h"

namespace assay {

/// Sends and receives everything; messages of a pair of ranks arrive in the order they were given,
/// those to this rank itself too. Error: failed, as TcpLinks says, or when what this rank sends to
/// itself does not fit what it receives.
Status transfer(TcpLinks& links, std::span<const Message> sends, std::span<const Message> receives);

}  // namespace assay
