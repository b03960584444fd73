// A check: one file in src/advise/doctor/checks/ that examines one thing that makes machines slow,
// faulty or unusable. It registers itself with
//   const CheckRegistry::Add registered{{"numa-balancing", "NUMA balancing", Topic::host, &run}};
// and neither changes the machine nor prints.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advise/doctor/version.h"
#include "core/registry.h"
#include "machine/system/gpu.h"
#include "machine/system/machine.h"
#include "machine/system/virtualization.h"

namespace assay {

enum class Judgement {
  pass,
  warn,     ///< may cost performance, or is wrong for some uses
  fail,     ///< harms performance or correctness
  unknown,  ///< cannot be determined here; `found` says why: "needs root: ..."
};

/// The result of a check for one subject.
struct Finding {
  Judgement judgement = Judgement::unknown;
  std::string subject;  ///< "GPU 3 (0000:3b:00.0)", "eth0"; empty: the whole machine
  std::string found;    ///< "1", "x8 of x16"
  std::string wanted;   ///< "0"
  std::string why;      ///< one sentence about what it costs
  std::string source;   ///< title and section of the document with the advice
  std::string fix;      ///< the exact command, or where to set it; empty if passed or if
                        ///< nothing helps
};

/// The intended use of the machine; an empty field is judged by common practice.
struct Intent {
  std::string partition;    ///< "SPX/NPS1": fail if the GPUs are in another mode
  int gpus = 0;             ///< number of GPUs that a job uses; 0: all
  bool multi_node = false;  ///< jobs span nodes: NIC and GPUDirect checks become failures
};

struct CheckContext {
  const Machine& machine;
  const std::vector<Gpu>& gpus;
  const Intent& intent;
  const Virtualization& virtualization;
  std::optional<Version> rocm;  ///< none: no ROCm found in the default places
  /// Whether environment variables are known. They are not for a copied folder without recorded
  /// variables, where "not set" and "unknown" look alike.
  bool variables_known = true;
  bool live = false;  ///< the machine is running: a second reading may differ from the first

  /// Returns whether there is a GPU of the vendor: "amd", "nvidia".
  bool has(std::string_view vendor) const {
    for (const Gpu& gpu : gpus) {
      if (gpu.vendor == vendor) return true;
    }
    return false;
  }
  bool virtual_machine() const { return !virtualization.hypervisor.empty(); }
};

/// The subject of a check; results are shown in this order.
enum class Topic { host, limits, gpu, link, runtime, network };

struct Check {
  std::string_view id;     ///< "numa-balancing"
  std::string_view title;  ///< "NUMA balancing"
  Topic topic;
  /// Returns no findings if the check does not apply.
  std::vector<Finding> (*run)(const CheckContext& context);
};
using CheckRegistry = Registry<Check>;

std::string_view name_of(Judgement judgement);  ///< "PASS", "WARN", "FAIL", "UNKNOWN"

}  // namespace assay
