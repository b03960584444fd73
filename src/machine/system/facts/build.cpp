// The build of assay that took the measurement.
#include "core/json.h"
#include "machine/system/fact_source.h"

namespace assay::build_fact {
namespace {

Json read_build(const Machine& machine) {
  return machine.ask("assay");
}

const FactRegistry::Add registered{{"assay", &read_build}};

}  // namespace
}  // namespace assay::build_fact
