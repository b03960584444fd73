// The fingerprint: everything that could explain why two runs differ, such as the machine, its
// limits and the software. Each source of facts is one file in facts/ (fact_source.h).
// Store::append_fingerprint (results/store/store.h) assigns the fingerprint's id.
#pragma once

#include "machine/system/fact_source.h"

namespace assay {

/// Returns the facts of every source by section, and as "backends" the facts of the vendors'
/// run-time stacks (facts_of() in compute/device/backend.h); null stands for {}. Works
/// unprivileged.
Json take_fingerprint(Json backends, const Machine& machine = this_machine());

}  // namespace assay
