#include "advise/occupancy/amd_object.h"

#include <fmt/format.h>

#include "core/json.h"
#include "machine/code_object/msgpack.h"

namespace assay::occupancy {
namespace {

constexpr std::uint32_t note_of_metadata = 32;

Result<std::uint64_t> number(const SortedJson& kernel, const char* key, bool required) {
  const auto at = kernel.find(key);
  if (at == kernel.end()) {
    if (!required) return std::uint64_t{0};
    return malformed(fmt::format("the metadata of a kernel has no {}", key));
  }
  if (!at->is_number_integer() || *at < 0) {
    return malformed(fmt::format("{} of a kernel's metadata is not a non-negative number", key));
  }
  return at->get<std::uint64_t>();
}

Result<unsigned> small_number(const SortedJson& kernel, const char* key, bool required) {
  const std::uint64_t value = TRY(number(kernel, key, required));
  constexpr std::uint64_t most = 1u << 30;  // far above any register file
  if (value > most) return malformed(fmt::format("{} of a kernel is {}", key, value));
  return static_cast<unsigned>(value);
}

/// The processor according to the ELF header's flags, for old objects whose metadata has no target.
std::string_view arch_of_flags(std::uint32_t flags) {
  switch (flags & 0xff) {
    case 0x30:
      return "gfx908";
    case 0x3f:
      return "gfx90a";
    case 0x4c:
      return "gfx942";
    case 0x4f:
      return "gfx950";
    default:
      return "an unknown processor";
  }
}

}  // namespace

std::string arch_of_target(std::string_view target) {
  const std::size_t dash = target.rfind("--");
  if (dash != std::string_view::npos) target.remove_prefix(dash + 2);
  return std::string(target.substr(0, target.find(':')));
}

Result<KernelUse> kernel_of_metadata(const SortedJson& kernel) {
  if (!kernel.is_object()) return malformed("the metadata has a kernel that is not a map");
  KernelUse use;
  const auto name = kernel.find(".name");
  if (name == kernel.end() || !name->is_string()) {
    return malformed("the metadata has a kernel without .name");
  }
  use.name = name->get<std::string>();
  use.vgprs = TRY(small_number(kernel, ".vgpr_count", true));
  use.agprs = TRY(small_number(kernel, ".agpr_count", false));
  use.sgprs = TRY(small_number(kernel, ".sgpr_count", true));
  use.shared_bytes = TRY(small_number(kernel, ".group_segment_fixed_size", true));
  use.scratch_bytes = TRY(small_number(kernel, ".private_segment_fixed_size", true));
  use.vgpr_spills = TRY(small_number(kernel, ".vgpr_spill_count", false));
  use.sgpr_spills = TRY(small_number(kernel, ".sgpr_spill_count", false));
  use.max_threads = TRY(small_number(kernel, ".max_flat_workgroup_size", false));
  const auto dynamic = kernel.find(".uses_dynamic_stack");
  use.dynamic_stack = dynamic != kernel.end() && dynamic->is_boolean() && dynamic->get<bool>();
  return use;
}

Result<CodeImage> read_amd_object(Bytes file, const Elf& elf) {
  CodeImage image;
  image.kind = ImageKind::amd_object;
  image.arch = arch_of_flags(elf.flags);
  image.code = file.text();
  for (const ElfNote& note : elf.notes) {
    if (note.owner != "AMDGPU" || note.type != note_of_metadata) continue;
    const SortedJson metadata = TRY(read_msgpack(note.data));
    if (!metadata.is_object()) return malformed("the metadata is not a map");
    const auto target = metadata.find("amdhsa.target");
    if (target != metadata.end() && target->is_string()) {
      image.target = target->get<std::string>();
      image.arch = arch_of_target(image.target);
    }
    const auto kernels = metadata.find("amdhsa.kernels");
    if (kernels == metadata.end() || !kernels->is_array()) continue;
    for (const SortedJson& kernel : *kernels)
      image.kernels.push_back(TRY(kernel_of_metadata(kernel)));
    return image;
  }
  return malformed("an AMD code object without kernel metadata (note AMDGPU 32)");
}

}  // namespace assay::occupancy
