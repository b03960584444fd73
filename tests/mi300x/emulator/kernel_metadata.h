// Reads what a code object declares about its kernels: the metadata note and the descriptors.
#pragma once

#include <string>
#include <vector>

#include "emulator/code_object.h"
#include "machine/code_object/elf.h"

namespace mi300x {

/// Returns the kernels of the metadata note, without their descriptors. Throws Fault
/// (invalid_launch).
std::vector<KernelInfo> read_metadata(const assay::occupancy::Elf& elf);

/// A descriptor, and the offset of the kernel's code in bytes from the descriptor.
struct RawDescriptor {
  KernelDescriptor descriptor;
  i64 entry_offset = 0;
};
constexpr std::size_t descriptor_bytes = 64;
RawDescriptor read_descriptor(const char* bytes, const std::string& arch);

}  // namespace mi300x
