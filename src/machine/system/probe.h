// A question that files cannot answer, asked of this machine by calls: uname, the affinity mask,
// NVIDIA's management library. A file adds one with
//   const ProbeRegistry::Add registered{{"uname", &ask_uname}};
// and whoever needs the answer asks a Machine for it by name, which makes it part of a capture.
#pragma once

#include <string_view>

#include "core/json.h"
#include "core/registry.h"
#include "machine/system/machine.h"

namespace assay {

struct Probe {
  std::string_view name;
  /// Never fails; null where nothing can be said. Asked at most once in a process.
  Json (*ask)();
};
using ProbeRegistry = Registry<Probe>;

}  // namespace assay
