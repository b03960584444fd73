// Runtimes, BLAS, collective and network libraries that a process here can find
// (library_probe.cpp).
#include "core/json.h"
#include "machine/system/fact_source.h"

namespace assay::libraries_fact {
namespace {

Json read_libraries(const Machine& machine) {
  return machine.ask("libraries");
}

const FactRegistry::Add registered{{"libraries", &read_libraries}};

}  // namespace
}  // namespace assay::libraries_fact
