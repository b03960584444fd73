#include "advise/occupancy/limits.h"

#include <array>

namespace assay::occupancy {
namespace {

constexpr std::uint64_t KiB = 1024;

// The values are from LLVM's AMDGPUBaseInfo.cpp; the LDS granule of gfx950 is 320 words.
constexpr std::array<AmdLimits, 5> amd = {{
    {"gfx90a", 64 * KiB, 512},
    {"gfx940", 64 * KiB, 512},
    {"gfx941", 64 * KiB, 512},
    {"gfx942", 64 * KiB, 512},
    {"gfx950", 160 * KiB, 1280},
}};

// The values are from the table "Technical Specifications per Compute Capability" of the CUDA C++
// Programming Guide. Barriers are a limit since 9.0 (CUDA's cuda_occupancy.h).
constexpr std::array<NvidiaLimits, 13> nvidia_limits = {{
    {"sm_70", 7, 64, 32, 0, 96 * KiB, 96 * KiB},
    {"sm_72", 7, 64, 32, 0, 96 * KiB, 96 * KiB},
    {"sm_75", 7, 32, 16, 0, 64 * KiB, 64 * KiB},
    {"sm_80", 8, 64, 32, 0, 164 * KiB, 163 * KiB},
    {"sm_86", 8, 48, 16, 0, 100 * KiB, 99 * KiB},
    {"sm_87", 8, 48, 16, 0, 164 * KiB, 163 * KiB},
    {"sm_89", 8, 48, 24, 0, 100 * KiB, 99 * KiB},
    {"sm_90", 9, 64, 32, 64, 228 * KiB, 227 * KiB},
    {"sm_100", 10, 64, 32, 64, 228 * KiB, 227 * KiB},
    {"sm_103", 10, 64, 32, 64, 228 * KiB, 227 * KiB},
    {"sm_110", 11, 48, 24, 24, 228 * KiB, 227 * KiB},
    {"sm_120", 12, 48, 24, 24, 100 * KiB, 99 * KiB},
    {"sm_121", 12, 48, 24, 24, 100 * KiB, 99 * KiB},
}};

}  // namespace

const AmdLimits* find_amd(std::string_view arch) {
  arch = arch.substr(0, arch.find(':'));
  for (const AmdLimits& limits : amd) {
    if (limits.arch == arch) return &limits;
  }
  return nullptr;
}

const NvidiaLimits* find_nvidia(std::string_view arch) {
  constexpr std::string_view virtual_prefix = "compute_";
  std::string name(arch);
  if (arch.starts_with(virtual_prefix)) {
    name = "sm_" + std::string(arch.substr(virtual_prefix.size()));
  }
  // Architectures such as sm_90a and sm_100f have more instructions, but the same resources.
  if (name.ends_with('a') || name.ends_with('f')) name.pop_back();
  for (const NvidiaLimits& limits : nvidia_limits) {
    if (limits.arch == name) return &limits;
  }
  return nullptr;
}

std::string known_archs() {
  std::string names;
  for (const AmdLimits& limits : amd) names += std::string(limits.arch) + ", ";
  for (const NvidiaLimits& limits : nvidia_limits) names += std::string(limits.arch) + ", ";
  names.resize(names.size() - 2);
  return names;
}

}  // namespace assay::occupancy
