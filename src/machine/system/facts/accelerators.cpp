// The accelerators as their drivers describe them, whether or not a runtime can open them, and the
// libraries from which the descriptions come.
#include "core/json.h"
#include "machine/system/fact_source.h"
#include "machine/system/gpu.h"
#include "machine/system/virtualization.h"

namespace assay::accelerators_fact {
namespace {

Json read_accelerators(const Machine& machine) {
  Json list = Json::array();
  const bool guest = !read_virtualization(machine).hypervisor.empty();
  for (const Gpu& gpu : read_gpus(machine)) {
    Json json = to_json(gpu, false);
    // A whole GPU in a virtual machine must be passed through.
    if (guest && !gpu.virtual_function) json["passthrough"] = true;
    list.push_back(std::move(json));
  }
  return list;
}

const FactRegistry::Add registered{{"accelerators", &read_accelerators}};

}  // namespace
}  // namespace assay::accelerators_fact
