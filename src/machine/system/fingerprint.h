// Everything that could explain why two runs differ: the machine, its limits, the software. A
// source of facts is one file in this folder (fact_source.h); Store::append_fingerprint gives it
// its id.
#pragma once

#include "machine/system/fact_source.h"

namespace assay {

/// Facts of every source by section, and `backends`: what is known of the vendors' run-time stacks
/// (facts_of() in compute/device/backend.h); null where none is asked. Works unprivileged.
Json take_fingerprint(Json backends, const Machine& machine = this_machine());

}  // namespace assay
