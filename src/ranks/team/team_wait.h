// Waiting for a device whose work waits for other ranks.
#pragma once

#include "compute/device/device.h"
#include "core/result.h"
#include "ranks/team/team.h"

namespace assay {

/// Until `stream` is idle; `idle` is recorded for that. A process alone waits as the device does;
/// ranks of a team poll, because what the device waits for may be a rank that is gone. Error: the
/// device's; as Team::still_whole(): then the stream may be waiting for ever.
Status wait_idle(Stream& stream, Event& idle, Team& team);

}  // namespace assay
