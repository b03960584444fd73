// The ranks that compute one model together.
#pragma once

#include "ranks/collective/communicator.h"
#include "ranks/team/team.h"

namespace assay {

/// Both must outlive the model; null for one that computes alone.
struct ModelRanks {
  Communicator* communicator = nullptr;
  Team* team = nullptr;
};

}  // namespace assay
