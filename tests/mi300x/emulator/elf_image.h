// A code object's segments in memory with relocations applied, and its symbols.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/instruction.h"
#include "machine/code_object/elf.h"

namespace mi300x {

struct alignas(4096) Page {
  char bytes[4096];
};

struct ImageSymbol {
  u64 address = 0, size = 0;  ///< as in the file: offsets from the image's begin
  bool is_object = false;     ///< a variable or a descriptor, not a function
};

struct ElfImage {
  std::vector<Page> pages;
  std::map<std::string, ImageSymbol, std::less<>> symbols;

  char* begin() { return pages.data()->bytes; }
  std::size_t size() const { return pages.size() * sizeof(Page); }
};

/// Throws Fault (invalid_launch) if segments, symbols or relocations do not fit the file or the
/// image, or a relocation or symbol is not known.
ElfImage load_elf(std::string_view file, const assay::occupancy::Elf& elf);

/// Throws Fault (invalid_launch).
[[noreturn]] void damaged(const std::string& how);

/// Returns the value of a Result; an error becomes Fault (invalid_launch).
template <typename T>
T sound(assay::Result<T> result) {
  if (!result.ok()) damaged(result.error().message);
  return std::move(result).value();
}

}  // namespace mi300x
