// Parses one operand as the disassembler writes it.
#pragma once

#include <string_view>

#include "emulator/instruction.h"

namespace mi300x {

/// Parses a register, constant or special value with its modifiers -x, neg(x), |x|, sext(x). A
/// constant becomes the bits that an operation reading `type` sees. `sign_extended`: the hardware
/// extends a 32-bit literal to 64 bits with its sign. Throws Fault (unknown_instruction).
Operand parse_operand(std::string_view text, Type type, bool sign_extended);

}  // namespace mi300x
