#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"

namespace assay::smt_check {
namespace {

constexpr Advice advice = {
    .wanted = "off",
    .why =
        "two threads of one core share its execution units, which slows compute-bound host "
        "work and makes its times vary",
    .source = "ROCm docs, MI300X system optimization: System BIOS settings, SMT control",
    .fix =
        "SMT Control = Disable in the BIOS; until the next boot: echo off | sudo tee "
        "/sys/devices/system/cpu/smt/control"};

/// This is the MI300X guide's advice for the machine that holds the GPUs; a guest's topology is
/// made up by its hypervisor.
std::vector<Finding> run(const CheckContext& context) {
  if (!has_mi300x(context) || context.virtual_machine()) return {};
  const Reading reading = read_setting(context.machine, "sys/devices/system/cpu/smt/active");
  if (!reading.text) return {unknown(advice, reading.why_not)};
  if (*reading.text == "0") return {passed(advice, "off")};
  if (*reading.text == "1") return {warned(advice, "on")};
  return {unknown(advice, "neither 0 nor 1: " + in_quotes(*reading.text))};
}

const CheckRegistry::Add registered{{"smt", "Simultaneous multithreading", Topic::host, &run}};

}  // namespace
}  // namespace assay::smt_check
