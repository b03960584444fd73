// A question about this machine that only calls can answer, not files: uname, the affinity mask,
// NVIDIA's management library. A file adds one with
//   const ProbeRegistry::Add registered{{"uname", &ask_uname}};
// Code that needs the answer asks a Machine for it by name, which makes it part of a capture.
#pragma once

#include <string_view>

#include "core/json_fwd.h"
#include "core/registry.h"
#include "machine/system/machine.h"

namespace assay {

/// A question to the running system, answered by calls instead of files.
struct Probe {
  std::string_view name;
  /// Never fails; null if there is no answer. Called at most once per process.
  Json (*ask)();
};
using ProbeRegistry = Registry<Probe>;

}  // namespace assay
