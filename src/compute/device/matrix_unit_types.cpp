#include "compute/device/matrix_unit_types.h"

#include <fmt/format.h>

#include <charconv>

namespace assay {

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

bool has_own_matrix_units(const DeviceFacts& facts) {
  // mma.sync for bf16 and asynchronous copies need sm_80; the bf16 MFMA instructions used need
  // gfx90a.
  if (facts.is_nvidia()) return compute_capability(facts) >= 80;
  const auto is = [&](const char* family) { return facts.arch.starts_with(family); };
  return !facts.is_amd() || is("gfx90a") || is("gfx94") || is("gfx95");
}

std::optional<std::string> cuda_lacks_type(DataType type, const DeviceFacts& facts) {
  if (is_fnuz(type)) return "FNUZ fp8 is AMD gfx942's encoding; NVIDIA has OCP e4m3 and e5m2";
  const int capability = compute_capability(facts);
  if (is_fp8(type) && capability < 89) {
    return fmt::format("{} has no fp8; it came with sm_89", facts.arch);
  }
  if ((type == DataType::tf32 || type == DataType::bf16) && capability < 80) {
    return fmt::format("{} has no {}; it came with sm_80", facts.arch, name_of(type));
  }
  return std::nullopt;
}

std::optional<std::string> rocm_lacks_type(DataType type, const DeviceFacts& facts) {
  const bool fnuz_hardware = has_fnuz_fp8(facts);
  const bool ocp_hardware = facts.arch.starts_with("gfx950") || facts.arch.starts_with("gfx12");
  if (is_fnuz(type) && !fnuz_hardware) {
    return fmt::format("{} has no FNUZ fp8{}", facts.arch,
                       ocp_hardware ? "; it has OCP e4m3 and e5m2" : "; it came with gfx942");
  }
  if (is_fp8(type) && !is_fnuz(type) && !ocp_hardware) {
    return fmt::format("{} has no OCP fp8{}", facts.arch,
                       fnuz_hardware ? "; it has e4m3_fnuz and e5m2_fnuz" : "");
  }
  if (type == DataType::tf32 && !fnuz_hardware) {
    return fmt::format("{} has no xf32 matrix instructions; only gfx942 has", facts.arch);
  }
  return std::nullopt;
}

}  // namespace assay
