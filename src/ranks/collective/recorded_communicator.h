// A communicator whose operations a recorder of timelines sees as collectives, with sizes.
#pragma once

#include <memory>

#include "ranks/collective/communicator.h"

namespace assay {

/// Returns `communicator`, or one that describes each operation to the stream before it queues it
/// if `device` is recorded.
std::unique_ptr<Communicator> recorded_on(const Device& device,
                                          std::unique_ptr<Communicator> communicator);

}  // namespace assay
