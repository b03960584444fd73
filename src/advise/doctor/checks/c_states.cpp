#include <fmt/format.h>

#include "advise/doctor/advice.h"

namespace assay::c_states_check {
namespace {

constexpr Advice advice = {
    .wanted = "no enabled idle state with an exit latency of 100 us or more (C2 on EPYC)",
    .why =
        "a core in such a deep idle state delays every completion that wakes it: small messages, "
        "network and launches",
    .source = "ROCm docs, MI300X system optimization: CPU core states (C-states)",
    .fix = {}};

constexpr long long slow_exit_us = 100;
constexpr const char* idle_folder = "sys/devices/system/cpu/cpu0/cpuidle";

struct IdleState {
  std::string name;
  std::string problem;  ///< why the fields below are unknown; empty if they are known
  bool enabled = false;
  long long exit_us = 0;
};

IdleState read_state(const Machine& machine, const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  const Reading disabled = read_setting(machine, folder / "disable");
  if (!disabled.text) return {.name = name, .problem = disabled.why_not};
  const Reading latency = read_setting(machine, folder / "latency");
  if (!latency.text) return {.name = name, .problem = latency.why_not};
  const auto exit_us = whole_number(*latency.text);
  if (!exit_us) return {.name = name, .problem = "not a number: " + in_quotes(*latency.text)};
  return {.name = read_setting(machine, folder / "name").text.value_or(name),
          .problem = {},
          .enabled = *disabled.text == "0",
          .exit_us = *exit_us};
}

/// Checks the first CPU only, because idle-set and the kernel's limits apply to every CPU.
std::vector<Finding> run(const CheckContext& context) {
  if (context.gpus.empty() || context.virtual_machine()) return {};
  std::optional<Finding> deepest;
  bool any = false;
  for (const std::string& name : context.machine.list(idle_folder)) {
    if (!name.starts_with("state")) continue;
    any = true;
    const IdleState state = read_state(context.machine, std::filesystem::path(idle_folder) / name);
    if (!state.problem.empty()) return {unknown(advice, state.problem)};
    if (!state.enabled || state.exit_us < slow_exit_us) continue;
    deepest = bad(context.intent.multi_node, advice,
                  fmt::format("{} enabled, exit latency {} us", state.name, state.exit_us));
    deepest->fix = "sudo cpupower idle-set -d " + name.substr(std::string_view("state").size());
  }
  if (!any) {
    return {unknown(advice, fmt::format("/{}: no idle states are listed; the firmware may still "
                                        "use some",
                                        idle_folder))};
  }
  return {deepest.value_or(passed(advice, "none"))};
}

const CheckRegistry::Add registered{{"c-states", "CPU idle states", Topic::host, &run}};

}  // namespace
}  // namespace assay::c_states_check
