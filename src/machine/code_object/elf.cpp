#include "machine/code_object/elf.h"

#include <fmt/format.h>

namespace assay::occupancy {
namespace {

constexpr std::string_view elf_magic =
    "\x7f"
    "ELF";
constexpr std::uint8_t class_64 = 2, little_endian = 1;
constexpr std::uint64_t section_header_bytes = 64, program_header_bytes = 56, symbol_bytes = 24;
constexpr std::uint32_t section_without_bytes = 8, cuda_section_of_shared_memory = 0x7000000a,
                        section_of_symbols = 2, segment_of_notes = 4;

struct Table {
  std::uint64_t offset = 0;
  std::uint16_t entry_bytes = 0, count = 0;
};

Result<Bytes> entry(Bytes file, const Table& table, std::uint64_t index, std::uint64_t bytes,
                    std::string_view what) {
  if (table.entry_bytes != bytes) {
    return malformed(
        fmt::format("not a 64-bit ELF file: a {} has {} bytes", what, table.entry_bytes));
  }
  const Bytes all = TRY(file.part(table.offset, bytes * table.count, what));
  return all.part(index * bytes, bytes, what);
}

bool has_bytes(std::uint32_t type, std::uint16_t machine) {
  const bool shared_memory = machine == elf_machine_cuda && type == cuda_section_of_shared_memory;
  return type != 0 && type != section_without_bytes && !shared_memory;
}

Result<ElfSection> read_section(Bytes file, Bytes header, std::uint16_t machine) {
  ElfSection section;
  section.type = TRY(header.read<std::uint32_t>(4, "section type"));
  section.info = TRY(header.read<std::uint32_t>(44, "section info"));
  const auto offset = TRY(header.read<std::uint64_t>(24, "section offset"));
  section.size = TRY(header.read<std::uint64_t>(32, "section size"));
  if (has_bytes(section.type, machine)) {
    section.data = TRY(file.part(offset, section.size, "a section"));
  }
  return section;
}

Status read_sections(Bytes file, const Table& table, std::uint16_t names_index, Elf& elf) {
  std::vector<std::uint32_t> names;
  for (unsigned i = 0; i < table.count; ++i) {
    const Bytes header = TRY(entry(file, table, i, section_header_bytes, "section header"));
    elf.sections.push_back(TRY(read_section(file, header, elf.machine)));
    names.push_back(TRY(header.read<std::uint32_t>(0, "section name")));
  }
  if (names_index >= elf.sections.size()) return {};  // no section has a name
  for (std::size_t i = 0; i < names.size(); ++i) {
    elf.sections[i].name =
        TRY(elf.sections[names_index].data.c_string(names[i], "the name of a section"));
    elf.section_by_name.emplace(elf.sections[i].name, i);
  }
  return {};
}

std::uint64_t aligned(std::uint32_t bytes) {
  return (std::uint64_t{bytes} + 3) / 4 * 4;
}

Status read_notes(Bytes segment, std::vector<ElfNote>& notes) {
  std::uint64_t at = 0;
  while (at < segment.size()) {
    const auto owner_bytes = TRY(segment.read<std::uint32_t>(at, "note"));
    const auto data_bytes = TRY(segment.read<std::uint32_t>(at + 4, "note"));
    ElfNote note;
    note.type = TRY(segment.read<std::uint32_t>(at + 8, "note"));
    note.owner = TRY(segment.part(at + 12, owner_bytes, "the owner of a note")).text();
    if (note.owner.ends_with('\0')) note.owner.remove_suffix(1);
    const std::uint64_t data_at = at + 12 + aligned(owner_bytes);
    note.data = TRY(segment.part(data_at, data_bytes, "a note"));
    notes.push_back(note);
    at = data_at + aligned(data_bytes);
  }
  return {};
}

Status read_segments(Bytes file, const Table& table, Elf& elf) {
  for (unsigned i = 0; i < table.count; ++i) {
    const Bytes header = TRY(entry(file, table, i, program_header_bytes, "program header"));
    const auto type = TRY(header.read<std::uint32_t>(0, "segment type"));
    const auto offset = TRY(header.read<std::uint64_t>(8, "segment offset"));
    const auto bytes = TRY(header.read<std::uint64_t>(32, "segment size"));
    const Bytes segment = TRY(file.part(offset, bytes, "a segment"));
    if (type == segment_of_notes) TRY(read_notes(segment, elf.notes));
  }
  return {};
}

}  // namespace

const ElfSection* Elf::find(std::string_view name) const {
  const auto at = section_by_name.find(name);
  return at == section_by_name.end() ? nullptr : &sections[at->second];
}

bool is_elf(Bytes file) {
  return file.text().starts_with(elf_magic);
}

Result<Elf> read_elf(Bytes file) {
  const Bytes header = TRY(file.part(0, 64, "the ELF header"));
  if (header.text()[4] != class_64 || header.text()[5] != little_endian) {
    return malformed("not a 64-bit little-endian ELF file");
  }
  Elf elf;
  elf.abi_version = TRY(header.read<std::uint8_t>(8, "ABI version"));
  elf.machine = TRY(header.read<std::uint16_t>(18, "machine"));
  elf.flags = TRY(header.read<std::uint32_t>(48, "flags"));
  const Table segments = {TRY(header.read<std::uint64_t>(32, "program headers")),
                          TRY(header.read<std::uint16_t>(54, "program headers")),
                          TRY(header.read<std::uint16_t>(56, "program headers"))};
  const Table sections = {TRY(header.read<std::uint64_t>(40, "section headers")),
                          TRY(header.read<std::uint16_t>(58, "section headers")),
                          TRY(header.read<std::uint16_t>(60, "section headers"))};
  const auto names_index = TRY(header.read<std::uint16_t>(62, "section names"));
  TRY(read_sections(file, sections, names_index, elf));
  TRY(read_segments(file, segments, elf));
  return elf;
}

Result<std::vector<std::string_view>> symbol_names(const Elf& elf) {
  std::vector<std::string_view> names;
  const ElfSection* strings = elf.find(".strtab");
  for (const ElfSection& section : elf.sections) {
    if (section.type != section_of_symbols || strings == nullptr) continue;
    for (std::uint64_t at = 0; at + symbol_bytes <= section.data.size(); at += symbol_bytes) {
      const auto name = TRY(section.data.read<std::uint32_t>(at, "symbol"));
      names.push_back(TRY(strings->data.c_string(name, "the name of a symbol")));
    }
    break;  // a file has only one symbol table
  }
  return names;
}

}  // namespace assay::occupancy
