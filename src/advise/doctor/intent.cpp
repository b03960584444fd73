#include "advise/doctor/intent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "advise/doctor/gpu_model.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 5> compute_modes = {"SPX", "DPX", "TPX", "QPX", "CPX"};
constexpr std::array<std::string_view, 4> memory_modes = {"NPS1", "NPS2", "NPS4", "NPS8"};
constexpr std::string_view nvidia_mode = "MIG";

template <typename Modes>
bool is_one_of(const Modes& modes, std::string_view mode) {
  return std::find(modes.begin(), modes.end(), mode) != modes.end();
}

Error no_such_mode(std::string_view partition, std::string_view why) {
  return {
      ErrorKind::usage,
      fmt::format("--partition {}: {}; allowed are {}, {}, both as in SPX/NPS1, and {} on NVIDIA",
                  partition, why, fmt::join(compute_modes, " "), fmt::join(memory_modes, " "),
                  nvidia_mode)};
}

}  // namespace

Status check_partition(std::string_view partition) {
  const std::size_t slash = partition.find('/');
  const std::string_view first = partition.substr(0, slash);
  const bool known =
      slash == std::string_view::npos
          ? partition.empty() || partition == nvidia_mode || is_one_of(compute_modes, first) ||
                is_one_of(memory_modes, first)
          : is_one_of(compute_modes, first) && is_one_of(memory_modes, partition.substr(slash + 1));
  if (!known) return no_such_mode(partition, "no such mode");
  return {};
}

Status check_intent(const Intent& intent, const std::vector<Gpu>& gpus) {
  const auto has = [&](std::string_view vendor) {
    return std::any_of(gpus.begin(), gpus.end(),
                       [&](const Gpu& gpu) { return gpu.vendor == vendor; });
  };
  if (intent.partition == nvidia_mode && has("amd") && !has("nvidia")) {
    return no_such_mode(intent.partition, "the GPUs are AMD's");
  }
  // The number of MIG slices is unknown; a machine without any GPU is reported elsewhere.
  const bool countable = std::none_of(gpus.begin(), gpus.end(), [](const Gpu& gpu) {
    return gpu.compute_partition == nvidia_mode;
  });
  const int present = count_devices(gpus);
  if (countable && present > 0 && intent.gpus > present && !intent.multi_node) {
    return Error{ErrorKind::usage,
                 fmt::format("--gpus {}: {} can be used here; 1 to {} are allowed, or more with "
                             "--multi-node, which counts the GPUs of all nodes",
                             intent.gpus, present, present)};
  }
  return {};
}

}  // namespace assay
