#include "compute/blas/device_types.h"

#include <fmt/format.h>

#include <charconv>

namespace assay {

bool is_fp8(DataType type) {
  return type == DataType::e4m3 || type == DataType::e5m2 || is_fnuz(type);
}

bool is_fnuz(DataType type) {
  return type == DataType::e4m3_fnuz || type == DataType::e5m2_fnuz;
}

bool has_fnuz_fp8(const DeviceFacts& facts) {
  return facts.arch.starts_with("gfx940") || facts.arch.starts_with("gfx941") ||
         facts.arch.starts_with("gfx942");
}

int compute_capability(const DeviceFacts& facts) {
  if (facts.arch.rfind("sm_", 0) != 0) return 0;
  int number = 0;
  std::from_chars(facts.arch.data() + 3, facts.arch.data() + facts.arch.size(), number);
  return number;
}

std::optional<std::string> cuda_lacks_type(const GemmProblem& problem, const DeviceFacts& facts) {
  if (is_fnuz(problem.a) || is_fnuz(problem.b)) {
    return "FNUZ fp8 is AMD gfx942's encoding; NVIDIA has OCP e4m3 and e5m2";
  }
  const int capability = compute_capability(facts);
  if ((is_fp8(problem.a) || is_fp8(problem.b)) && capability < 89) {
    return fmt::format("{} has no fp8; it came with sm_89", facts.arch);
  }
  const bool needs_ampere = problem.compute == DataType::tf32 || problem.a == DataType::bf16;
  if (needs_ampere && capability < 80) {
    return fmt::format("{} has no {}; it came with sm_80", facts.arch, name_of(problem.a));
  }
  return std::nullopt;
}

std::optional<std::string> rocm_lacks_type(const GemmProblem& problem, const DeviceFacts& facts) {
  const auto is_arch = [&](std::string_view prefix) { return facts.arch.rfind(prefix, 0) == 0; };
  const bool fnuz_hardware = has_fnuz_fp8(facts);
  const bool ocp_hardware = is_arch("gfx950") || is_arch("gfx12");
  if (is_fnuz(problem.a) && !fnuz_hardware) {
    return fmt::format("{} has no FNUZ fp8{}", facts.arch,
                       ocp_hardware ? "; it has OCP e4m3 and e5m2" : "; it came with gfx942");
  }
  if (is_fp8(problem.a) && !is_fnuz(problem.a) && !ocp_hardware) {
    return fmt::format("{} has no OCP fp8{}", facts.arch,
                       fnuz_hardware ? "; it has e4m3_fnuz and e5m2_fnuz" : "");
  }
  if (problem.compute == DataType::tf32 && !fnuz_hardware) {
    return fmt::format("{} has no xf32 matrix instructions; only gfx942 has", facts.arch);
  }
  if (problem.fast_accumulate) return "accumulate=fast applies to NVIDIA's fp8 only";
  return std::nullopt;
}

std::string cuda_version_text(std::size_t number) {
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

}  // namespace assay
