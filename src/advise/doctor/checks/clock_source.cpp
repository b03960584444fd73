#include <algorithm>
#include <array>

#include "advise/doctor/advice.h"

namespace assay::clock_source_check {
namespace {

constexpr Advice advice = {
    .wanted =
        "a clock read without a system call: tsc, kvm-clock, hyperv_clocksource_tsc_page, "
        "arch_sys_counter",
    .why =
        "otherwise every reading of the time takes microseconds instead of about 20 ns, in "
        "frameworks, collectives and measurements alike",
    .source =
        "Linux kernel documentation, Timekeeping: clock sources; RHEL for Real Time, Using "
        "hardware clocks",
    .fix =
        "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource, "
        "if available_clocksource has it"};

/// Clock sources that the kernel's vDSO reads in user space.
constexpr std::array<std::string_view, 4> quick = {
    "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"};
/// Clock sources that are registers outside the CPU.
constexpr std::array<std::string_view, 4> slow = {"hpet", "acpi_pm", "pit", "jiffies"};

std::vector<Finding> run(const CheckContext& context) {
  const Reading reading = read_setting(
      context.machine, "sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (!reading.text) return {unknown(advice, reading.why_not)};
  const std::string& name = *reading.text;
  if (std::find(quick.begin(), quick.end(), name) != quick.end()) return {passed(advice, name)};
  if (std::find(slow.begin(), slow.end(), name) != slow.end()) return {failed(advice, name)};
  return {unknown(advice, "not known whether it needs a system call: " + in_quotes(name))};
}

const CheckRegistry::Add registered{{"clock-source", "Clock source", Topic::host, &run}};

}  // namespace
}  // namespace assay::clock_source_check
