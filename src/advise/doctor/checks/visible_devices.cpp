#include <fmt/format.h>

#include "advise/doctor/hiding_variables.h"
#include "advise/doctor/variable_advice.h"

namespace assay::visible_devices_check {
namespace {

constexpr Advice advice = {
    .wanted =
        "indices of GPUs that are there; those in HIP_VISIBLE_DEVICES count within what "
        "ROCR_VISIBLE_DEVICES leaves",
    .why = "runtimes ignore an index without a GPU and all that follow it, without a word",
    .source =
        "ROCm docs, GPU isolation techniques; CUDA C++ Programming Guide, CUDA Environment "
        "Variables",
    .fix = {}};

std::vector<Finding> run(const CheckContext& context) {
  if (context.gpus.empty()) return {};
  if (auto finding = variables_not_known(context, advice)) return {*finding};
  std::vector<Finding> findings;
  const HidingVariable* earlier = nullptr;
  const std::vector<HidingVariable> all = hiding_variables(context);
  for (const HidingVariable& set : all) {
    const std::string whose =
        earlier ? fmt::format(" that {}={} leaves", earlier->name, earlier->value) : "";
    const std::string left =
        fmt::format("{}={}: {} of the {} GPUs{}", set.name, set.value, set.left, set.before, whose);
    if (set.left > 0 && set.unknown.empty()) {
      findings.push_back(passed(advice, left));
    } else {
      findings.push_back(bad(set.left == 0, advice,
                             set.unknown.empty()
                                 ? left
                                 : fmt::format("{}; {} names none of them", left, set.unknown)));
      findings.back().fix =
          earlier ? fmt::format("unset {}, or count from 0 within {}", set.name, earlier->name)
          : set.before > 0 ? fmt::format("unset {}, or use 0 to {}", set.name, set.before - 1)
                           : "unset " + set.name;
    }
    if (set.left == 0) break;
    earlier = &set;
  }
  return findings;
}

const CheckRegistry::Add registered{
    {"visible-devices", "Variables that hide GPUs", Topic::runtime, &run}};

}  // namespace
}  // namespace assay::visible_devices_check
