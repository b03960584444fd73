#include "emulator/code_object.h"

#include <fmt/format.h>

#include "emulator/coverage.h"
#include "emulator/disassembly.h"
#include "emulator/fault.h"
#include "emulator/kernel_metadata.h"
#include "emulator/memory_map.h"

namespace mi300x {
namespace {

using assay::occupancy::Bytes;
using assay::occupancy::Elf;

/// Returns the processor that an ELF header's flags name.
std::string arch_of_flags(u32 flags) {
  switch (flags & 0xFF) {
    case 0x3F:
      return "gfx90a";
    case 0x4C:
      return "gfx942";
    default:
      return fmt::format("processor {:#x}", flags & 0xFF);
  }
}

Elf read_object(std::string_view file, const std::string& arch) {
  if (!assay::occupancy::is_elf(Bytes(file))) damaged("it is no ELF file");
  Elf elf = sound(assay::occupancy::read_elf(Bytes(file)));
  if (elf.machine != assay::occupancy::elf_machine_amdgpu) damaged("it is not for an AMD GPU");
  const std::string made_for = arch_of_flags(elf.flags);
  if (made_for != arch)
    damaged(fmt::format("it is made for {}, this device is {}", made_for, arch));
  return elf;
}

void refuse(Wave&, const Instruction& instruction) {
  throw Fault(FaultKind::unknown_instruction,
              fmt::format("the emulator does not know '{}'", instruction.text));
}

/// Unknown code may lie between functions or never be reached, so it stops a kernel only when it is
/// executed.
Instruction decode_or_refuse(const std::string& text, const std::string& arch) {
  static const Operation unknown = {.name = "unknown", .execute = refuse, .targets = 0};
  try {
    return decode(text, arch);
  } catch (const Fault&) {
    Instruction instruction;
    instruction.operation = &unknown;
    instruction.text = text;
    return instruction;
  }
}

bool is_relative_branch(std::string_view name) {
  return name == "s_branch" || name == "s_call_b64" || name.starts_with("s_cbranch_");
}

/// Converts distances of branches to indices. A branch out of the code gets an index beyond the
/// last instruction.
void link_branches(CodeObject& object) {
  for (Instruction& instruction : object.code) {
    if (!is_relative_branch(instruction.operation->name)) continue;
    const i64 words = static_cast<i16>(instruction.immediate);
    const u64 target = instruction.address + instruction.bytes + static_cast<u64>(4 * words);
    const auto at = object.indices.find(target);
    instruction.branch =
        at == object.indices.end() ? static_cast<u32>(object.code.size()) : at->second;
  }
}

void decode_code(std::string_view file, const std::string& arch, CodeObject& object) {
  const auto lines = disassemble(file, arch);
  const u64 base = reinterpret_cast<u64>(object.image.begin());
  object.code.reserve(lines->size());
  object.indices.reserve(lines->size());
  for (const DisassembledLine& line : *lines) {
    Instruction instruction = decode_or_refuse(line.text, arch);
    instruction.address = base + line.address;
    instruction.bytes = line.bytes;
    instruction.source = line.source;
    object.indices.emplace(instruction.address, static_cast<u32>(object.code.size()));
    object.code.push_back(std::move(instruction));
  }
  link_branches(object);
}

void read_kernels(const Elf& elf, const std::string& arch, CodeObject& object) {
  for (KernelInfo& info : read_metadata(elf)) {
    const auto symbol = object.image.symbols.find(info.name + ".kd");
    if (symbol == object.image.symbols.end() ||
        symbol->second.address > object.image.size() - descriptor_bytes) {
      damaged(fmt::format("kernel {} has no descriptor", info.name));
    }
    const char* bytes = object.image.begin() + symbol->second.address;
    const RawDescriptor raw = read_descriptor(bytes, arch);
    Kernel kernel{std::move(info), raw.descriptor};
    kernel.descriptor.entry =
        object.index_of(reinterpret_cast<u64>(bytes) + static_cast<u64>(raw.entry_offset));
    const std::string name = kernel.info.name;
    object.kernels.emplace(name, std::move(kernel));
  }
}

void find_variables(CodeObject& object) {
  const u64 base = reinterpret_cast<u64>(object.image.begin());
  for (const auto& [name, symbol] : object.image.symbols) {
    if (!symbol.is_object || name.ends_with(".kd")) continue;
    object.variables.emplace(name, std::pair{base + symbol.address, symbol.size});
  }
}

}  // namespace

std::shared_ptr<Module> Module::load(std::string_view file, const std::string& arch) {
  const Elf elf = read_object(file, arch);
  auto object = std::make_shared<CodeObject>(load_elf(file, elf));
  decode_code(file, arch, *object);
  read_kernels(elf, arch, *object);
  find_variables(*object);
  add_to_coverage(*object);
  return object;
}

CodeObject::CodeObject(ElfImage loaded) : image(std::move(loaded)) {
  MemoryMap::instance().add(image.begin(), image.size(), -1, "code object", true);
}

CodeObject::~CodeObject() {
  MemoryMap::instance().remove(image.begin());
}

const KernelInfo* CodeObject::kernel(const std::string& name) const {
  const auto at = kernels.find(name);
  return at == kernels.end() ? nullptr : &at->second.info;
}

void* CodeObject::variable(const std::string& name, std::size_t* bytes) const {
  const auto at = variables.find(name);
  if (at == variables.end()) return nullptr;
  *bytes = at->second.second;
  return reinterpret_cast<void*>(at->second.first);
}

u32 CodeObject::index_of(u64 address) const {
  const auto at = indices.find(address);
  if (at != indices.end()) return at->second;
  throw Fault(FaultKind::illegal_address, fmt::format("no instruction lies at {:#x}", address));
}

}  // namespace mi300x
