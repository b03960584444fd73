// The instructions of a code object as text, by llvm-objdump.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/instruction.h"

namespace mi300x {

struct DisassembledLine {
  u64 address = 0;  ///< as the file has it
  u32 bytes = 4;
  std::string text;    ///< "v_add_f32_e32 v1, s2, v3"
  std::string source;  ///< "memory.cu:42"; empty without line tables
};
using Disassembly = std::vector<DisassembledLine>;

/// Reads what llvm-objdump prints with -d, with or without -l. Throws Fault (invalid_launch) for a
/// line of code without its address.
Disassembly read_disassembly(std::string_view text);

/// Every executable section of the ELF file `file`, by address. Equal files are disassembled once
/// in a process. Throws Fault (invalid_launch) naming what was looked for if there is no
/// llvm-objdump; the variable MI300X_OBJDUMP names one.
std::shared_ptr<const Disassembly> disassemble(std::string_view file, const std::string& arch);

}  // namespace mi300x
