// A server with tensor parallelism: several ranks compute every layer together, each a process with
// a GPU or with a part of the CPUs.
#pragma once

#include <functional>

#include "cli/command.h"
#include "compute/device/device.h"
#include "model/parallel/model_ranks.h"

namespace assay::cli {

/// Forms the team, of the ranks that a launcher started or that this process starts itself, opens
/// this rank's device, and calls `serve` on every rank. Error: usage, if the launcher started
/// another number than `count`; as from warn_of_strangers() and
/// form_team() (ranks/launch/team_session.h), open_device() (compute/device/backend.h) and `serve`,
/// with how started ranks failed; unavailable, if there is no collective library for the device;
/// without a message on a rank that ends because another one did.
Status serve_on_ranks(const Arguments& arguments, int count, Terminal& terminal,
                      const std::function<Status(Device&, ModelRanks)>& serve);

}  // namespace assay::cli
