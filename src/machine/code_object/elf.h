// The subset of ELF that code objects, cubins and host programs need: 64 bits, little-endian.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "machine/code_object/bytes.h"

namespace assay::occupancy {

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0;  ///< sh_type
  std::uint32_t info = 0;  ///< sh_info
  std::uint64_t size = 0;  ///< bytes in memory
  Bytes data;              ///< empty if the section has no bytes in the file
};

struct ElfNote {
  std::string_view owner;
  std::uint32_t type = 0;  ///< n_type
  Bytes data;              ///< without padding
};

/// An ELF file. Its parts point into the file's bytes.
struct Elf {
  std::uint8_t abi_version = 0;                             ///< EI_ABIVERSION
  std::uint16_t machine = 0;                                ///< e_machine
  std::uint32_t flags = 0;                                  ///< e_flags
  std::vector<ElfSection> sections;                         ///< in the file's order
  std::map<std::string_view, std::size_t> section_by_name;  ///< the first section of each name
  std::vector<ElfNote> notes;                               ///< from the segments

  /// Returns null if there is no such section.
  const ElfSection* find(std::string_view name) const;
};

constexpr std::uint16_t elf_machine_amdgpu = 224, elf_machine_cuda = 190;

/// Returns whether the file begins as ELF files do, of any kind.
bool is_elf(Bytes file);
/// Rejects the file unless all sections and segments lie within it: a truncated file would not
/// load. The result points into `file`, of which is_elf() must be true. Error: usage.
Result<Elf> read_elf(Bytes file);
/// Returns the names of the symbols by index, for sections that refer to them; none if the file has
/// no symbol table or no section ".strtab". Error: usage.
Result<std::vector<std::string_view>> symbol_names(const Elf& elf);

}  // namespace assay::occupancy
