#include "machine/code_object/kernel_interface.h"

#include <fmt/format.h>

#include "core/json.h"
#include "machine/code_object/elf.h"
#include "machine/code_object/msgpack.h"

namespace assay {
namespace {

using occupancy::malformed;

constexpr std::uint32_t note_of_metadata = 32;

Result<std::uint64_t> number_of(const SortedJson& map, const char* key) {
  const auto at = map.find(key);
  if (at != map.end() && at->is_number_unsigned()) return at->get<std::uint64_t>();
  return malformed(fmt::format("the metadata of a kernel has no number {}", key));
}

Result<std::string> text_of(const SortedJson& map, const char* key) {
  const auto at = map.find(key);
  if (at != map.end() && at->is_string()) return at->get<std::string>();
  return malformed(fmt::format("the metadata of a kernel has no text {}", key));
}

Result<KernelInterface> interface_of(const SortedJson& kernel) {
  if (!kernel.is_object()) return malformed("the metadata has a kernel that is not a map");
  KernelInterface made;
  made.name = TRY(text_of(kernel, ".name"));
  made.argument_bytes = TRY(number_of(kernel, ".kernarg_segment_size"));
  made.most_threads = TRY(number_of(kernel, ".max_flat_workgroup_size"));
  const auto arguments = kernel.find(".args");
  if (arguments == kernel.end()) return made;
  if (!arguments->is_array()) return malformed("the arguments of a kernel are not a list");
  for (const SortedJson& argument : *arguments) {
    if (!argument.is_object()) return malformed("an argument of a kernel is not a map");
    made.arguments.push_back({argument.contains(".name") ? TRY(text_of(argument, ".name")) : "",
                              TRY(number_of(argument, ".offset")),
                              TRY(number_of(argument, ".size"))});
  }
  return made;
}

}  // namespace

Result<std::vector<KernelInterface>> read_kernel_interfaces(std::string_view code_object) {
  const occupancy::Bytes file(code_object);
  if (!occupancy::is_elf(file)) return malformed("not an ELF file");
  const occupancy::Elf elf = TRY(occupancy::read_elf(file));
  if (elf.machine != occupancy::elf_machine_amdgpu) return malformed("not for AMD GPUs");
  for (const occupancy::ElfNote& note : elf.notes) {
    if (note.owner != "AMDGPU" || note.type != note_of_metadata) continue;
    const SortedJson metadata = TRY(occupancy::read_msgpack(note.data));
    const auto kernels = metadata.is_object() ? metadata.find("amdhsa.kernels") : metadata.end();
    if (kernels == metadata.end() || !kernels->is_array()) {
      return malformed("the metadata has no kernels");
    }
    std::vector<KernelInterface> all;
    for (const SortedJson& kernel : *kernels) all.push_back(TRY(interface_of(kernel)));
    return all;
  }
  return malformed("without metadata of its kernels (note AMDGPU 32)");
}

}  // namespace assay
