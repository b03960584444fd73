#include <fmt/format.h>

#include <map>

#include "advise/doctor/advice.h"

namespace assay::cpu_governor_check {
namespace {

constexpr Advice advice = {
    .wanted = "performance",
    .why =
        "launches and collectives wait on the host, and a core that first has to raise its clock "
        "answers late and unevenly",
    .source = "Linux kernel documentation, CPU Performance Scaling; AMD EPYC 9004 tuning guides",
    .fix = "sudo cpupower frequency-set -g performance"};

constexpr Advice boost_advice = {
    .wanted = "boost on",
    .why = "without boost the cores stay at their base clock",
    .source = "Linux kernel documentation, CPU Performance Scaling: frequency boost",
    .fix = "echo 1 | sudo tee /sys/devices/system/cpu/cpufreq/boost"};

constexpr const char* frequency_folder = "sys/devices/system/cpu/cpufreq";

/// Drivers that let the hardware choose the clock name their only dynamic governor "powersave" and
/// take the preference from another file.
std::string mode_of(const Machine& machine, const std::filesystem::path& policy,
                    const std::string& governor) {
  if (governor != "powersave") return governor;
  const auto wish = read_setting(machine, policy / "energy_performance_preference").text;
  return wish ? "powersave, preference " + *wish : governor;
}

bool is_quick(const std::string& mode) {
  return mode == "performance" || mode == "powersave, preference performance";
}

/// Governors that keep the clock at its lowest.
bool is_slow(const std::string& mode) {
  return mode == "powersave" || mode == "powersave, preference power";
}

bool is_known(const std::string& mode) {
  return is_quick(mode) || mode.starts_with("powersave") || mode == "schedutil" ||
         mode == "ondemand" || mode == "conservative" || mode == "userspace";
}

std::vector<Finding> governor_findings(const Machine& machine) {
  const std::filesystem::path folder = frequency_folder;
  std::map<std::string, int> modes;
  for (const std::string& name : machine.list(folder)) {
    if (!name.starts_with("policy")) continue;
    const Reading governor = read_setting(machine, folder / name / "scaling_governor");
    if (!governor.text) return {unknown(advice, governor.why_not)};
    ++modes[mode_of(machine, folder / name, *governor.text)];
  }
  if (modes.empty()) {
    return {unknown(
        advice, fmt::format("/{}: no policies: the firmware or the hypervisor chooses the clock",
                            frequency_folder))};
  }
  std::string found;
  bool quick = true, slow = false;
  for (const auto& [mode, count] : modes) {
    if (!is_known(mode)) return {unknown(advice, "unknown governor " + in_quotes(mode))};
    quick = quick && is_quick(mode);
    slow = slow || is_slow(mode);
    if (!found.empty()) found += "; ";
    found += modes.size() == 1 ? mode : fmt::format("{} on {} CPUs", mode, count);
  }
  if (quick) return {passed(advice, found)};
  return {bad(slow, advice, found)};
}

std::vector<Finding> run(const CheckContext& context) {
  // The clocks of a guest's CPUs are chosen by the hypervisor.
  if (context.virtual_machine()) return {};
  std::vector<Finding> findings = governor_findings(context.machine);
  const std::filesystem::path folder = frequency_folder;
  const auto boost = read_setting(context.machine, folder / "boost").text;
  const auto no_turbo =
      read_setting(context.machine, "sys/devices/system/cpu/intel_pstate/no_turbo").text;
  if (boost == "0" || no_turbo == "1") {
    findings.push_back(warned(boost_advice, "boost off"));
    if (no_turbo == "1") {
      findings.back().fix = "echo 0 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo";
    }
  }
  return findings;
}

const CheckRegistry::Add registered{{"cpu-governor", "CPU governor", Topic::host, &run}};

}  // namespace
}  // namespace assay::cpu_governor_check
