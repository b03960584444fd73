#include "advise/tune/gemm/tuning_file_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace assay {
namespace {

constexpr int all_there_are = 1'000'000;

const BlasFacts* facts_of(const Device& device, ProductTuner& tuner, std::string_view library) {
  for (const BlasProvider& provider : blas_providers(device.facts().backend)) {
    if (provider.name != library) continue;
    const auto opened = tuner.library(provider);
    return opened.ok() ? &(*opened)->facts() : nullptr;
  }
  return nullptr;
}

/// Returns "702" for "7.2.51831".
std::string hip_number(std::string_view version) {
  int major = 0, minor = 0;
  const char* const end = version.data() + version.size();
  const auto at = std::from_chars(version.data(), end, major);
  if (at.ec != std::errc() || at.ptr == end || *at.ptr != '.') return {};
  if (std::from_chars(at.ptr + 1, end, minor).ec != std::errc()) return {};
  return std::to_string(major * 100 + minor);
}

}  // namespace

std::string missing_solution(const Device& device, ProductTuner& tuner, const GemmProblem& problem,
                             std::string_view library, std::int64_t index) {
  for (const BlasProvider& provider : blas_providers(device.facts().backend)) {
    if (provider.name != library) continue;
    if (auto reason = provider.unsupported(problem, device.facts())) {
      return fmt::format("{}: {}", library, *reason);
    }
    const auto opened = tuner.library(provider);
    if (!opened.ok()) return opened.error().message;
    const auto all =
        (*opened)->all_algorithms(problem, std::numeric_limits<std::size_t>::max(), all_there_are);
    if (!all.ok()) return all.error().message;
    const bool found = std::any_of(all->begin(), all->end(), [&](const GemmAlgorithm& algorithm) {
      return algorithm.index == index;
    });
    if (found) return {};
    return fmt::format("{} {} has no solution {} for {}", library, (*opened)->facts().version,
                       index, describe(problem));
  }
  return fmt::format("{} does not work on {} devices", library, device.facts().backend);
}

TunableOpFacts tunable_op_facts(const Device& device, ProductTuner& tuner,
                                std::string_view runtime) {
  TunableOpFacts machine;
  machine.hip = hip_number(runtime);
  machine.arch = device.facts().arch;
  if (const BlasFacts* rocblas = facts_of(device, tuner, "rocblas")) {
    machine.rocblas = rocblas->version;
  }
  const BlasFacts* lt = facts_of(device, tuner, "hipblaslt");
  if (lt != nullptr && lt->number != 0 && !lt->revision.empty()) {
    machine.hipblaslt = fmt::format("{}-{}", lt->number, lt->revision);
  }
  return machine;
}

OverrideFacts override_facts(const Device& device, ProductTuner& tuner) {
  OverrideFacts machine;
  machine.arch = device.facts().arch;
  machine.multiprocessors = device.facts().multiprocessors;
  if (const BlasFacts* lt = facts_of(device, tuner, "hipblaslt")) {
    machine.git_version = lt->revision;
  }
  return machine;
}

}  // namespace assay
