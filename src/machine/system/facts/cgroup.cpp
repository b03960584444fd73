// Limits that control groups set for this process.
#include "machine/system/cgroup.h"

#include "core/json.h"
#include "machine/system/fact_source.h"

namespace assay::cgroup_fact {
namespace {

Json read_cgroup(const Machine& machine) {
  const CgroupLimits limits = read_cgroup_limits(machine);
  Json json = Json::object();
  if (limits.version == 0) return json;
  json["version"] = limits.version;
  put_fact(json, "cpu_limit", limits.cpus);
  if (limits.memory_bytes) {
    json["memory_limit_bytes"] = static_cast<unsigned long long>(*limits.memory_bytes);
  }
  if (!limits.cpu_set.empty()) json["cpu_set"] = limits.cpu_set;
  return json;
}

const FactRegistry::Add registered{{"cgroup", &read_cgroup}};

}  // namespace
}  // namespace assay::cgroup_fact
