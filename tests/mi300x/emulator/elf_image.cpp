#include "emulator/elf_image.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/fault.h"

namespace mi300x {
namespace {

using assay::occupancy::Bytes;
using assay::occupancy::Elf;
using assay::occupancy::ElfSection;

constexpr u64 largest_image = u64{1} << 30;
constexpr u32 segment_to_load = 1;
constexpr u64 program_header_bytes = 56, symbol_bytes = 24, relocation_bytes = 24;
constexpr u8 symbol_of_object = 1;

struct Segment {
  u64 address = 0, memory_bytes = 0;
  Bytes data;
};

std::vector<Segment> segments_to_load(Bytes file) {
  const u64 table = sound(file.read<u64>(32, "program headers"));
  const u16 count = sound(file.read<u16>(56, "program headers"));
  std::vector<Segment> segments;
  for (u64 i = 0; i < count; ++i) {
    const Bytes header = sound(
        file.part(table + i * program_header_bytes, program_header_bytes, "a program header"));
    if (sound(header.read<u32>(0, "segment type")) != segment_to_load) continue;
    Segment segment;
    segment.address = sound(header.read<u64>(16, "segment address"));
    segment.memory_bytes = sound(header.read<u64>(40, "segment size"));
    segment.data = sound(file.part(sound(header.read<u64>(8, "segment offset")),
                                   sound(header.read<u64>(32, "segment size")), "a segment"));
    if (segment.address > largest_image || segment.memory_bytes > largest_image ||
        segment.data.size() > segment.memory_bytes) {
      damaged(fmt::format("a segment of {} bytes at {:#x} with {} bytes in the file",
                          segment.memory_bytes, segment.address, segment.data.size()));
    }
    segments.push_back(segment);
  }
  return segments;
}

void place(const std::vector<Segment>& segments, ElfImage& image) {
  u64 end = 0;
  for (const Segment& segment : segments)
    end = std::max(end, segment.address + segment.memory_bytes);
  if (end == 0) damaged("it has nothing to load");
  image.pages.assign((end + sizeof(Page) - 1) / sizeof(Page), Page{});
  for (const Segment& segment : segments) {
    const std::string_view data = segment.data.text();
    std::copy(data.begin(), data.end(), image.begin() + segment.address);
  }
}

/// The entries of a symbol table in order, with undefined ones without size.
struct NamedSymbol {
  std::string name;
  ImageSymbol symbol;
  bool defined = false;
};

std::vector<NamedSymbol> read_symbols(const Elf& elf, std::string_view table,
                                      std::string_view names, u64 image_bytes) {
  std::vector<NamedSymbol> symbols;
  const ElfSection* section = elf.find(table);
  const ElfSection* strings = elf.find(names);
  if (section == nullptr || strings == nullptr) return symbols;
  for (u64 at = 0; at + symbol_bytes <= section->data.size(); at += symbol_bytes) {
    NamedSymbol read;
    read.name = sound(strings->data.c_string(sound(section->data.read<u32>(at, "a symbol")),
                                             "the name of a symbol"));
    read.symbol.is_object =
        (sound(section->data.read<u8>(at + 4, "a symbol")) & 0xF) == symbol_of_object;
    read.defined = sound(section->data.read<u16>(at + 6, "a symbol")) != 0;
    read.symbol.address = sound(section->data.read<u64>(at + 8, "a symbol"));
    read.symbol.size = sound(section->data.read<u64>(at + 16, "a symbol"));
    if (read.defined && read.symbol.is_object &&
        (read.symbol.address > image_bytes ||
         read.symbol.size > image_bytes - read.symbol.address)) {
      damaged(fmt::format("symbol {} lies outside the segments", read.name));
    }
    symbols.push_back(std::move(read));
  }
  return symbols;
}

// ---- Relocations ----

enum RelocationType : u32 { none = 0, absolute_64 = 3, relative_64 = 13 };

u64 symbol_address(const std::vector<NamedSymbol>& symbols, u64 index, u64 base) {
  if (index >= symbols.size()) damaged("a relocation refers to no symbol");
  if (!symbols[index].defined) {
    damaged(fmt::format("symbol {} is not defined", symbols[index].name));
  }
  return base + symbols[index].symbol.address;
}

void relocate(const Elf& elf, const std::vector<NamedSymbol>& symbols, ElfImage& image) {
  const ElfSection* section = elf.find(".rela.dyn");
  if (section == nullptr) return;
  const u64 base = reinterpret_cast<u64>(image.begin());
  for (u64 at = 0; at + relocation_bytes <= section->data.size(); at += relocation_bytes) {
    const u64 place = sound(section->data.read<u64>(at, "a relocation"));
    const u64 info = sound(section->data.read<u64>(at + 8, "a relocation"));
    const u64 addend = sound(section->data.read<u64>(at + 16, "a relocation"));
    const u32 type = static_cast<u32>(info);
    if (type == none) continue;
    if (place > image.size() - 8) damaged("a relocation lies outside the segments");
    if (type != absolute_64 && type != relative_64) {
      damaged(fmt::format("relocation type {} is not known", type));
    }
    const u64 value =
        (type == absolute_64 ? symbol_address(symbols, info >> 32, base) : base) + addend;
    std::memcpy(image.begin() + place, &value, sizeof value);
  }
}

}  // namespace

void damaged(const std::string& how) {
  throw Fault(FaultKind::invalid_launch, fmt::format("the code object does not load: {}", how));
}

ElfImage load_elf(std::string_view file, const Elf& elf) {
  ElfImage image;
  place(segments_to_load(Bytes(file)), image);
  const auto dynamic = read_symbols(elf, ".dynsym", ".dynstr", image.size());
  relocate(elf, dynamic, image);
  // Variables with internal linkage are only in the full table, which a file need not have.
  for (const auto& symbols : {read_symbols(elf, ".symtab", ".strtab", image.size()), dynamic}) {
    for (const NamedSymbol& named : symbols) {
      if (named.defined && !named.name.empty()) image.symbols[named.name] = named.symbol;
    }
  }
  return image;
}

}  // namespace mi300x
