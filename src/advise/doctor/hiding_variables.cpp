#include "advise/doctor/hiding_variables.h"

#include <algorithm>

#include "advise/doctor/gpu_model.h"
#include "advise/doctor/variable_advice.h"

namespace assay {
namespace {

/// A GPU by its index or, which is taken as right, by its UUID.
bool names_gpu(std::string_view entry, int gpus) {
  if (entry.starts_with("GPU-")) return true;
  const auto index = whole_number(entry);
  return index && *index >= 0 && *index < gpus;
}

HidingVariable read_hiding(const std::string& name, const std::string& value, int gpus) {
  HidingVariable read{name, value, gpus, 0, {}};
  std::string_view rest = value;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto entry = words(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (entry.empty()) continue;
    if (!names_gpu(entry.front(), gpus)) {
      read.unknown = entry.front();
      break;
    }
    ++read.left;
  }
  read.left = std::min(read.left, gpus);
  return read;
}

}  // namespace

std::vector<HidingVariable> hiding_variables(const CheckContext& context) {
  const bool amd = context.has("amd");
  std::vector<Gpu> gpus;
  for (const Gpu& gpu : context.gpus) {
    if ((gpu.vendor == "amd") != amd || !is_visible(gpu)) continue;
    if (gpu.compute_partition == "MIG") return {};
    gpus.push_back(gpu);
  }
  std::vector<std::string> names = {"CUDA_VISIBLE_DEVICES"};
  if (amd) {
    const bool hip = !variable(context, "HIP_VISIBLE_DEVICES").value_or("").empty();
    names = {"ROCR_VISIBLE_DEVICES", hip ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES"};
  }
  std::vector<HidingVariable> set;
  int left = count_devices(gpus);
  for (const std::string& name : names) {
    const auto value = variable(context, name);
    if (!value || (value->empty() && amd)) continue;  // NVIDIA's, empty, hides all
    set.push_back(read_hiding(name, *value, left));
    left = set.back().left;
  }
  return set;
}

}  // namespace assay
