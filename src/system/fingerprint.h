// Everything that could explain why two runs differ: the machine, its limits, the software. A
// source of facts is one file in this folder (fact_source.h); Store::append_fingerprint gives it
// its id.
#pragma once

#include <memory>
#include <vector>

#include "device/backend.h"
#include "system/fact_source.h"

namespace assay {

/// Facts of every source by section, and of every backend that is present: libraries and devices.
/// Works unprivileged.
Json take_fingerprint(const std::vector<std::unique_ptr<Backend>>& backends,
                      const Machine& machine = this_machine());

}  // namespace assay
