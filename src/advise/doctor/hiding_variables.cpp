#include "advise/doctor/hiding_variables.h"

#include <algorithm>
#include <set>

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

/// What reads a variable, and how. ROCr ends at an entry that it has seen before. HIP leaves such
/// an entry out, and an entry with a blank names no GPU (ROCr, amd_filter_device.cpp; CLR,
/// rocdevice.cpp).
enum class VariableReader { rocr, hip, cuda };

HidingVariable read_hiding(const std::string& name, const std::string& value, int gpus,
                           VariableReader reader) {
  HidingVariable read{name, value, gpus, 0, {}};
  std::set<std::string_view> seen;
  std::string_view rest = value;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view whole = rest.substr(0, comma);
    const auto parts = words(whole);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const bool trims = reader != VariableReader::hip;
    if (trims && parts.empty()) continue;
    const std::string_view entry = trims ? parts.front() : whole;
    if (!names_gpu(entry, gpus)) {
      const bool blank = parts.empty() || parts.front() != entry;
      read.unknown = blank ? in_quotes(entry) : std::string(entry);
      break;
    }
    const bool repeated = !seen.insert(entry).second;
    if (repeated && reader == VariableReader::rocr) break;
    if (!repeated || reader == VariableReader::cuda) ++read.left;
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
    const bool hip = variable(context, "HIP_VISIBLE_DEVICES").has_value();
    names = {"ROCR_VISIBLE_DEVICES", hip ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES"};
  }
  std::vector<HidingVariable> set;
  int left = count_devices(gpus);
  for (const std::string& name : names) {
    const auto value = variable(context, name);
    const VariableReader reader = !amd                             ? VariableReader::cuda
                                  : name == "ROCR_VISIBLE_DEVICES" ? VariableReader::rocr
                                                                   : VariableReader::hip;
    if (!value) continue;
    set.push_back(read_hiding(name, *value, left, reader));
    left = set.back().left;
  }
  return set;
}

}  // namespace assay
