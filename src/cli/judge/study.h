// `assay campaign container`: a study, a campaign whose plan is built in. The plan is the example
// of that name, with what this machine can measure and the environments that the user names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/judge/versus_load.h"
#include "core/result.h"
#include "results/record/device_facts.h"

namespace assay::cli {

/// "container node partition ...".
std::string study_names();
bool is_study(std::string_view word);
/// The first line of a study's plan.
std::string study_mark(std::string_view name);

/// What the user asks for.
struct StudyRequest {
  std::string name;                        ///< "container"
  std::vector<std::string> operands = {};  ///< environments, builds or partitions; may be empty
  std::vector<std::string> axes = {};      ///< "size=64KiB", for every cell that has the axis
  PlannedLoad load = {};                   ///< empty: no load
  std::uint64_t ranks = 0;                 ///< 0: one for each GPU
  std::string budget = {}, device = {};    ///< as --budget and --device; empty: the plan's
};

/// What a study needs to know about this machine.
struct StudyMachine {
  std::vector<DeviceFacts> gpus;  ///< in the order of their runtime, each partition by itself
  bool has_adapter = false;       ///< an RDMA adapter with an active port
  std::size_t cpus = 1;
  /// Returns whether the program exists and, for an engine with a daemon, answers: "" or why not.
  std::function<std::string(const std::string& program)> problem_of_engine;
};
StudyMachine study_machine();

struct Study {
  std::string plan;                ///< YAML
  std::string folder;              ///< "campaigns/container"
  std::vector<std::string> notes;  ///< what was chosen, and what is left out and why
};

/// Error: usage for operands that the study cannot take; unavailable if this machine has nothing to
/// study.
Result<Study> make_study(const StudyRequest& request, const StudyMachine& machine);

}  // namespace assay::cli
