#include "advise/occupancy/cubin.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "advise/occupancy/limits.h"
#include "advise/occupancy/occupancy.h"

namespace assay::occupancy {
namespace {

// Attributes of .nv.info sections, by number; the names are those of `cuobjdump -elf`.
enum Attribute : std::uint8_t {
  max_threads = 0x05,
  required_threads = 0x10,
  frame_size = 0x11,
  register_count = 0x2f,
  barrier_count = 0x4c,
};

/// Callback for attributes. An attribute begins with a format byte (4: a size and that many bytes
/// follow; otherwise a 2-byte value) and its number.
using Visit = std::function<Status(std::uint8_t attribute, std::uint16_t small, Bytes value)>;
Status each_attribute(Bytes section, const Visit& visit) {
  constexpr std::uint8_t sized = 4;
  constexpr std::string_view what = "an attribute of .nv.info";
  for (std::uint64_t at = 0; at < section.size();) {
    const auto format = TRY(section.read<std::uint8_t>(at, what));
    const auto attribute = TRY(section.read<std::uint8_t>(at + 1, what));
    const auto word = TRY(section.read<std::uint16_t>(at + 2, what));
    at += 4;
    Bytes value;
    if (format == sized) {
      value = TRY(section.part(at, word, what));
      at += word;
    }
    TRY(visit(attribute, word, value));
  }
  return {};
}

unsigned arch_of(const Elf& elf) {
  // ABI version 8, used since CUDA 13, stores the architecture's number one byte higher.
  return elf.abi_version >= 8 ? elf.flags >> 8 & 0xff : elf.flags & 0xff;
}

/// Reads the registers and frame sizes of all functions, stored as pairs of a symbol's index and a
/// number.
Status read_global_info(const Elf& elf, std::vector<KernelUse>& kernels) {
  const ElfSection* info = elf.find(".nv.info");
  if (info == nullptr) return {};
  const auto symbols = TRY(symbol_names(elf));
  std::map<std::string_view, KernelUse*> by_name;
  for (KernelUse& kernel : kernels) by_name.emplace(kernel.name, &kernel);
  return each_attribute(
      info->data, [&](std::uint8_t attribute, std::uint16_t, Bytes value) -> Status {
        if (attribute != register_count && attribute != frame_size) return {};
        const auto symbol = TRY(value.read<std::uint32_t>(0, "a symbol's index"));
        const auto number = TRY(value.read<std::uint32_t>(4, "a number of registers or bytes"));
        if (symbol >= symbols.size())
          return malformed("damaged: .nv.info names a symbol that does not exist");
        const auto kernel = by_name.find(symbols[symbol]);
        if (kernel == by_name.end()) return {};  // a function that is not a kernel
        if (attribute == register_count) kernel->second->vgprs = number;
        if (attribute == frame_size) kernel->second->scratch_bytes = number;
        return {};
      });
}

Status read_kernel_info(Bytes info, KernelUse& kernel) {
  return each_attribute(
      info, [&](std::uint8_t attribute, std::uint16_t small, Bytes value) -> Status {
        if (attribute == barrier_count) kernel.barriers = small & 0xff;
        if (attribute != max_threads && attribute != required_threads) return {};
        std::uint64_t threads = 1;
        for (std::uint64_t axis = 0; axis < 3; ++axis) {
          threads *=
              std::min(TRY(value.read<std::uint32_t>(4 * axis, "a block's size")), most_threads);
        }
        kernel.max_threads = static_cast<unsigned>(std::min<std::uint64_t>(threads, most_threads));
        return {};
      });
}

}  // namespace

Result<CodeImage> read_cubin(Bytes file, const Elf& elf) {
  constexpr std::string_view code_prefix = ".text.", info_prefix = ".nv.info.",
                             shared_prefix = ".nv.shared.";
  CodeImage image;
  image.kind = ImageKind::cubin;
  image.arch = fmt::format("sm_{}", arch_of(elf));
  image.target = image.arch;
  image.code = file.text();
  // A function with an attribute section is a kernel.
  for (const ElfSection& section : elf.sections) {
    if (!section.name.starts_with(info_prefix)) continue;
    KernelUse kernel;
    kernel.name = section.name.substr(info_prefix.size());
    if (elf.find(std::string(code_prefix) + kernel.name) == nullptr) continue;
    TRY(read_kernel_info(section.data, kernel));
    image.kernels.push_back(std::move(kernel));
  }
  TRY(read_global_info(elf, image.kernels));
  // Since sm_90 this section's size includes what the system reserves; .nv.shared.reserved.0 then
  // exists.
  const NvidiaLimits* limits = find_nvidia(image.arch);
  const bool reserved = elf.find(".nv.shared.reserved.0") != nullptr && limits != nullptr;
  for (KernelUse& kernel : image.kernels) {
    const ElfSection* shared = elf.find(std::string(shared_prefix) + kernel.name);
    if (shared == nullptr) continue;
    const std::uint64_t system = reserved ? reserved_shared(*limits) : 0;
    kernel.shared_bytes = shared->size - std::min(shared->size, system);
  }
  return image;
}

}  // namespace assay::occupancy
