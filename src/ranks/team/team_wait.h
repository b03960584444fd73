// Waiting for a device whose work depends on other ranks.
#pragma once

#include "compute/device/device.h"
#include "core/result.h"
#include "ranks/team/team.h"

namespace assay {

/// Waits until `stream` is idle; records `idle` to find out. A single process uses the device's own
/// wait; ranks of a team poll, since the device may be waiting for a rank that is gone. Error: the
/// device's, or that of Team::check_alive(), after which the stream may never become idle.
Status wait_idle(Stream& stream, Event& idle, Team& team);

}  // namespace assay
