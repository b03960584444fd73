#include <fmt/format.h>

#include <array>
#include <chrono>
#include <map>
#include <thread>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"
#include "advise/doctor/pci.h"
#include "machine/system/gpu_metrics.h"

namespace assay::throttling_check {
namespace {

constexpr Advice advice = {
    .wanted = "no limit but the power limit under load",
    .why =
        "heat or a brake signal from the board lowers the clock below what the power limit "
        "allows",
    .source =
        "Linux kernel, kgd_pp_interface.h: gpu_metrics residency counters; NVML docs, "
        "nvmlClocksEventReasons",
    .fix =
        "check fans, inlet temperature, heat sinks and power supplies of this node; then read "
        "again under load: assay doctor --check throttling"};

/// Below this share of the time, throttling is an incident and not a state.
constexpr double notable_share = 0.001;

struct Cause {
  const char* name;
  std::optional<std::uint64_t> ThrottleResidency::*counter;
};
constexpr std::array<Cause, 4> causes = {
    {{"brake signal (PROCHOT)", &ThrottleResidency::prochot},
     {"heat of the socket", &ThrottleResidency::socket_thermal},
     {"heat of the regulators", &ThrottleResidency::regulator_thermal},
     {"heat of the memory", &ThrottleResidency::memory_thermal}}};

struct Largest {
  const char* name = nullptr;  ///< null: no thermal or brake limit
  double share = 0;
};

/// The cause that limited the clock longest between the readings `before` and `now`, as a share of
/// `cycles`.
Largest largest_cause(const ThrottleResidency& now, const ThrottleResidency& before,
                      std::uint64_t cycles) {
  Largest largest;
  for (const Cause& cause : causes) {
    const std::uint64_t after = (now.*cause.counter).value_or(0);
    const std::uint64_t first = (before.*cause.counter).value_or(0);
    if (after <= first) continue;  // no increase, or the driver was reloaded
    const double share = static_cast<double>(after - first) / static_cast<double>(cycles);
    if (share > largest.share) largest = {cause.name, share};
  }
  return largest;
}

std::string percent(double share) {
  return share < notable_share ? fmt::format("{:.2g}%", 100 * share)
                               : fmt::format("{:.3g}%", 100 * share);
}

/// Judges what happened between two readings of a running machine, or since the driver was loaded
/// if there is only one.
Finding look_amd(const CheckContext& context, const Gpu& gpu, const ThrottleResidency& before) {
  const auto folder = pci_folder(gpu.pci);
  const FileText file = context.machine.read(folder / "gpu_metrics");
  if (file.state != FileState::found) {
    return unknown(advice, why_not(context.machine, gpu.pci, "gpu_metrics"), label(gpu));
  }
  const GpuMetrics metrics = parse_gpu_metrics(file.text);
  if (!metrics.problem.empty()) return unknown(advice, metrics.problem, label(gpu));
  const ThrottleResidency& throttle = metrics.throttle;
  if (!throttle.cycles || *throttle.cycles == 0) {
    return unknown(
        advice,
        fmt::format("gpu_metrics {}.{} has no throttle counters", metrics.format, metrics.content),
        label(gpu));
  }
  const Largest ever = largest_cause(throttle, {}, *throttle.cycles);
  const std::string history =
      ever.name ? fmt::format("{} limited the clock for {} of the time since the driver was loaded",
                              ever.name, percent(ever.share))
                : "no heat or brake since the driver was loaded";
  const std::uint64_t first = before.cycles.value_or(*throttle.cycles);
  if (*throttle.cycles <= first) {
    return ever.share > notable_share ? warned(advice, history, label(gpu))
                                      : passed(advice, history, label(gpu));
  }
  const Largest now = largest_cause(throttle, before, *throttle.cycles - first);
  if (!now.name) {
    return passed(advice, ever.name ? "no heat or brake now; " + history : history, label(gpu));
  }
  const std::string found =
      fmt::format("{} limits the clock for {} of the time now", now.name, percent(now.share));
  return now.share > notable_share ? warned(advice, found, label(gpu))
                                   : passed(advice, found, label(gpu));
}

/// Judges NVML's throttle reasons; reaching the power limit is not a fault.
Finding look_nvidia(const Gpu& gpu) {
  constexpr std::array<std::string_view, 3> faults = {"thermal", "brake", "hw_slowdown"};
  const std::string& reasons = gpu.state.throttle_reasons;
  if (reasons.empty() && gpu.state.engine_clocks_hz.empty()) {
    return unknown(advice, "the driver does not report it", label(gpu));
  }
  if (reasons.empty()) return passed(advice, "none", label(gpu));
  for (const std::string_view fault : faults) {
    if (reasons.find(fault) != std::string::npos) return failed(advice, reasons, label(gpu));
  }
  if (reasons.find("applications_clocks_setting") != std::string::npos) {
    Finding finding = warned(advice, reasons, label(gpu));
    finding.fix =
        "sudo nvidia-smi --reset-applications-clocks && sudo nvidia-smi --reset-gpu-clocks";
    return finding;
  }
  return passed(advice, reasons, label(gpu));
}

/// The first reading of every GPU; then waits for some of the firmware's 1 ms cycles to pass.
std::map<std::string, ThrottleResidency> first_readings(const CheckContext& context) {
  constexpr std::chrono::milliseconds between_readings(50);
  std::map<std::string, ThrottleResidency> readings;
  if (!context.live) return readings;
  for (const Gpu& gpu : context.gpus) {
    if (gpu.vendor != "amd") continue;
    const FileText file = context.machine.read(pci_folder(gpu.pci) / "gpu_metrics");
    const ThrottleResidency throttle = parse_gpu_metrics(file.text).throttle;
    if (throttle.cycles) readings[gpu.pci] = throttle;
  }
  if (!readings.empty()) std::this_thread::sleep_for(between_readings);
  return readings;
}

std::vector<Finding> run(const CheckContext& context) {
  const std::map<std::string, ThrottleResidency> first = first_readings(context);
  return for_each_gpu(context, [&](const Gpu& gpu) -> std::optional<Finding> {
    if (gpu.vendor != "amd") return look_nvidia(gpu);
    const auto before = first.find(gpu.pci);
    return look_amd(context, gpu, before == first.end() ? ThrottleResidency() : before->second);
  });
}

const CheckRegistry::Add registered{{"throttling", "Clock throttling", Topic::gpu, &run}};

}  // namespace
}  // namespace assay::throttling_check
