// Everything that could explain why two runs differ: the machine, its limits, the software. A
// source of facts is one file in facts/ (fact_source.h); Store::append_fingerprint assigns the
// fingerprint's id.
#pragma once

#include "machine/system/fact_source.h"

namespace assay {

/// The facts of every source by section, and `backends`: what is known of the vendors' run-time
/// stacks (facts_of() in compute/device/backend.h); null to leave them out. Works unprivileged.
Json take_fingerprint(Json backends, const Machine& machine = this_machine());

}  // namespace assay
