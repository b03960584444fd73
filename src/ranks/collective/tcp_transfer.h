// Messages over TCP links, all in progress at once, so that no order of sends and receives can
// deadlock two ranks.
#pragma once

#include <span>

#include "ranks/collective/communicator.h"
#include "ranks/collective/tcp_links.h"

namespace assay {

/// Sends and receives everything. Messages between two ranks, and from this rank to itself, arrive
/// in the given order. Error: failed, as TcpLinks reports, or if the sizes of messages from this
/// rank to itself do not match.
Status transfer(TcpLinks& links, std::span<const Message> sends, std::span<const Message> receives);

}  // namespace assay
