// Container, hypervisor and cloud.
#include "machine/system/virtualization.h"

#include <fmt/format.h>

#include "core/json.h"
#include "machine/system/fact_source.h"

namespace assay::virtualization_fact {
namespace {

Json read(const Machine& machine) {
  const Virtualization found = read_virtualization(machine);
  Json json = {{"container", found.container.empty() ? "none" : found.container},
               {"hypervisor", found.hypervisor.empty() ? "none" : found.hypervisor}};
  if (!found.namespaces.empty())
    json["namespaces"] = fmt::format("{}", fmt::join(found.namespaces, ","));
  if (!found.cloud.empty()) json["cloud"] = found.cloud;
  return json;
}

const FactRegistry::Add registered{{"virtualization", &read}};

}  // namespace
}  // namespace assay::virtualization_fact
