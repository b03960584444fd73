// Environment variables that change how GPU runtimes, collectives, BLAS or threads behave.
#include "core/json.h"
#include "machine/system/fact_source.h"

namespace assay::environment_fact {
namespace {

Json read_environment(const Machine& machine) {
  Json json = Json::object();
  for (const auto& [name, value] : machine.variables()) json[name] = value;
  return json;
}

const FactRegistry::Add registered{{"environment", &read_environment}};

}  // namespace
}  // namespace assay::environment_fact
