// Disassembles the instructions of a code object with llvm-objdump.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/instruction.h"

namespace mi300x {

struct DisassembledLine {
  u64 address = 0;  ///< as in the file
  u32 bytes = 4;
  std::string text;    ///< "v_add_f32_e32 v1, s2, v3"
  std::string source;  ///< "memory.cu:42"; empty without line tables
};
using Disassembly = std::vector<DisassembledLine>;

/// Parses the output of llvm-objdump -d, with or without -l. Throws Fault (invalid_launch) for a
/// line of code without an address.
Disassembly read_disassembly(std::string_view text);

/// Disassembles every executable section of the ELF file `file`, ordered by address. Equal files
/// are disassembled once in a process. Throws Fault (invalid_launch) naming what was looked for if
/// there is no llvm-objdump; the variable MI300X_OBJDUMP names one.
std::shared_ptr<const Disassembly> disassemble(std::string_view file, const std::string& arch);

}  // namespace mi300x
