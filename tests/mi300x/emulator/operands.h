// One operand as the disassembler writes it.
#pragma once

#include <string_view>

#include "emulator/instruction.h"

namespace mi300x {

/// A register, constant or special value with its modifiers -x, neg(x), |x|, sext(x). A constant
/// becomes the bits that an operation reading `type` sees; `sign_extended`: a literal of 32 bits
/// that the hardware extends to 64 keeps its sign. Throws Fault (unknown_instruction).
Operand parse_operand(std::string_view text, Type type, bool sign_extended);

}  // namespace mi300x
