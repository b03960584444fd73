#include "emulator/kernel_metadata.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "core/json.h"
#include "emulator/elf_image.h"
#include "machine/code_object/msgpack.h"

namespace mi300x {
namespace {

using assay::SortedJson;

constexpr u32 note_of_metadata = 32;

/// Metadata is MessagePack: maps from names such as ".size" to values, and lists of them.
void need_map(const SortedJson& value, std::string_view what) {
  if (value.is_object()) return;
  damaged(fmt::format("{} must be a map from names to values and is of type {}", what,
                      value.type_name()));
}

void need_list(const SortedJson& value, std::string_view what) {
  if (value.is_array()) return;
  damaged(fmt::format("{} must be a list of maps and is of type {}", what, value.type_name()));
}

u32 number(const SortedJson& map, const char* key, u32 without) {
  const auto at = map.find(key);
  if (at == map.end()) return without;
  if (!at->is_number_unsigned() || *at > 0xFFFFFFFFu) {
    damaged(fmt::format("{} of the metadata is not a number of 32 bits", key));
  }
  return at->get<u32>();
}

u32 needed_number(const SortedJson& map, const char* key) {
  if (!map.contains(key)) damaged(fmt::format("the metadata of a kernel has no {}", key));
  return number(map, key, 0);
}

std::string needed_text(const SortedJson& map, const char* key) {
  const auto at = map.find(key);
  if (at == map.end() || !at->is_string()) {
    damaged(fmt::format("the metadata of a kernel has no {}", key));
  }
  return at->get<std::string>();
}

std::vector<KernelInfo::Argument> read_arguments(const SortedJson& kernel) {
  std::vector<KernelInfo::Argument> arguments;
  const auto list = kernel.find(".args");
  if (list == kernel.end()) return arguments;
  need_list(*list, ".args of the metadata");
  for (const SortedJson& argument : *list) {
    need_map(argument, "an element of .args of the metadata");
    arguments.push_back({needed_number(argument, ".offset"), needed_number(argument, ".size"),
                         needed_text(argument, ".value_kind")});
  }
  return arguments;
}

KernelInfo read_kernel(const SortedJson& kernel) {
  need_map(kernel, "an element of amdhsa.kernels of the metadata");
  KernelInfo info;
  info.name = needed_text(kernel, ".name");
  info.arguments = read_arguments(kernel);
  info.argument_bytes = needed_number(kernel, ".kernarg_segment_size");
  info.shared_bytes = needed_number(kernel, ".group_segment_fixed_size");
  info.scratch_bytes = needed_number(kernel, ".private_segment_fixed_size");
  info.vector_registers = static_cast<int>(needed_number(kernel, ".vgpr_count"));
  info.accumulators = static_cast<int>(number(kernel, ".agpr_count", 0));
  info.scalar_registers = static_cast<int>(needed_number(kernel, ".sgpr_count"));
  info.max_threads = static_cast<int>(needed_number(kernel, ".max_flat_workgroup_size"));
  if (needed_number(kernel, ".wavefront_size") != 64)
    damaged("a kernel for waves of other than 64");
  return info;
}

/// Returns bits of a word of the descriptor.
u32 field(u32 word, unsigned first, unsigned bits) {
  return word >> first & ((1u << bits) - 1);
}

template <typename T>
T read_at(const char* bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}

/// Returns HW_REG_MODE at the beginning of a wave.
u32 initial_mode(u32 resources_1) {
  const u32 rounding_and_denormals = field(resources_1, 12, 8);
  const u32 clamp_nan = field(resources_1, 21, 1), ieee = field(resources_1, 23, 1),
            saturate_half = field(resources_1, 26, 1);
  return rounding_and_denormals | clamp_nan << 8 | ieee << 9 | saturate_half << 23;
}

}  // namespace

std::vector<KernelInfo> read_metadata(const assay::occupancy::Elf& elf) {
  for (const assay::occupancy::ElfNote& note : elf.notes) {
    if (note.owner != "AMDGPU" || note.type != note_of_metadata) continue;
    const SortedJson metadata = sound(assay::occupancy::read_msgpack(note.data));
    need_map(metadata, "the metadata (note AMDGPU 32)");
    std::vector<KernelInfo> kernels;
    const auto list = metadata.find("amdhsa.kernels");
    if (list == metadata.end()) return kernels;
    need_list(*list, "amdhsa.kernels of the metadata");
    for (const SortedJson& kernel : *list) kernels.push_back(read_kernel(kernel));
    return kernels;
  }
  damaged("it has no metadata of kernels (note AMDGPU 32)");
}

RawDescriptor read_descriptor(const char* bytes, const std::string& arch) {
  RawDescriptor raw;
  KernelDescriptor& read = raw.descriptor;
  read.shared_bytes = read_at<u32>(bytes, 0);
  read.scratch_bytes = read_at<u32>(bytes, 4);
  read.argument_bytes = read_at<u32>(bytes, 8);
  raw.entry_offset = read_at<i64>(bytes, 16);

  const u32 resources_3 = read_at<u32>(bytes, 44), resources_1 = read_at<u32>(bytes, 48),
            resources_2 = read_at<u32>(bytes, 52);
  read.accumulator_offset = 4 * (field(resources_3, 0, 6) + 1);
  read.mode = initial_mode(resources_1);
  // gfx942 has a dedicated flat scratch; on gfx90a the bit requests the wave's offset in an SGPR.
  read.private_wave_offset = field(resources_2, 0, 1) != 0 && arch == "gfx90a";
  read.user_registers = field(resources_2, 1, 5);
  read.group_id_x = field(resources_2, 7, 1) != 0;
  read.group_id_y = field(resources_2, 8, 1) != 0;
  read.group_id_z = field(resources_2, 9, 1) != 0;
  read.group_info = field(resources_2, 10, 1) != 0;
  read.item_ids = field(resources_2, 11, 2);

  const u32 properties = read_at<u16>(bytes, 56), preload = read_at<u16>(bytes, 58);
  read.private_segment_buffer = field(properties, 0, 1) != 0;
  read.dispatch_pointer = field(properties, 1, 1) != 0;
  read.queue_pointer = field(properties, 2, 1) != 0;
  read.kernarg_pointer = field(properties, 3, 1) != 0;
  read.dispatch_id = field(properties, 4, 1) != 0;
  read.flat_scratch = field(properties, 5, 1) != 0;
  read.private_segment_size = field(properties, 6, 1) != 0;
  read.preloaded_words = field(preload, 0, 7);
  read.preload_offset = field(preload, 7, 9);
  // On firmware that cannot preload arguments, the first 256 bytes of such a kernel load them.
  if (read.preloaded_words > 0) raw.entry_offset += 256;
  return raw;
}

}  // namespace mi300x
