// What every kind of communicator promises beyond its operations: communicators can coexist, be
// split, queue their work on a stream and be captured.
#pragma once

#include "compute/device/device.h"
#include "core/result.h"
#include "ranks/collective/communicator.h"
#include "ranks/team/team.h"

namespace assay::selftest {

/// What a kind of communicators can do on some device.
struct CommunicatorAbilities {
  bool queues = true;    ///< enqueue()
  bool captures = true;  ///< enqueue() within a capture
  bool messages = true;  ///< messages between ranks
};

/// Makes communicators of `kind` and uses them: several at once, split, with registered memory,
/// queued, captured, with bounds. All ranks of `team` call it with the same arguments and get the
/// same result. Ranks synchronise before memory is freed and after a communicator was destroyed, as
/// communicator.h requires of ranks that are threads. A rank that finds a wrong result continues
/// with the same calls, so that no other rank waits for it in vain. Error: verification, with the
/// rank, or that of a rank's library, device or team.
Status check_communicators(const CommunicatorKind& kind, Device& device, Team& team, Stream& stream,
                           const CommunicatorAbilities& abilities = {});

/// Checks the splits alone, for libraries that cannot do the rest. Error: as check_communicators().
Status check_splits(const CommunicatorKind& kind, Device& device, Team& team, Stream& stream);

}  // namespace assay::selftest
