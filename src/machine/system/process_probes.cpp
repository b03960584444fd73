// Facts that a process can learn about itself only by system calls: the system's name, the CPUs it
// may run on, its user; and the build of assay.
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <string>

#include "core/json.h"
#include "core/version.h"
#include "machine/system/affinity.h"
#include "machine/system/probe.h"

namespace assay::process_probes {
namespace {

Json ask_uname() {
  utsname system = {};
  if (uname(&system) != 0) return {};
  return {{"name", system.nodename},
          {"kernel", system.release},
          {"kernel_build", system.version},
          {"machine", system.machine}};
}

/// Returns "0-3,8"; null if the kernel does not report it.
Json ask_affinity() {
  const std::string list = cpu_list(affinity_cpus());
  return list.empty() ? Json() : Json(list);
}

/// Returns {"uid": 0, "groups": [0, 44]}.
Json ask_user() {
  std::array<gid_t, 256> groups = {};
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  Json list = Json::array();
  for (int i = 0; i < count; ++i) list.push_back(groups[static_cast<std::size_t>(i)]);
  return {{"uid", geteuid()}, {"gid", getegid()}, {"groups", std::move(list)}};
}

Json ask_assay() {
  return {{"version", version()},
          {"git", git_hash()},
          {"compiler", compiler()},
          {"build_type", build_type()}};
}

const ProbeRegistry::Add registered_uname{{"uname", &ask_uname}};
const ProbeRegistry::Add registered_affinity{{"affinity", &ask_affinity}};
const ProbeRegistry::Add registered_user{{"user", &ask_user}};
const ProbeRegistry::Add registered_assay{{"assay", &ask_assay}};

}  // namespace
}  // namespace assay::process_probes
