// Parses what follows an instruction's operands: "clamp", "offset:16", "quad_perm:[1,0,3,2]".
#pragma once

#include <string>
#include <string_view>

#include "emulator/instruction.h"

namespace mi300x {

/// Applies one modifier to `instruction`, whose operands are already known. Throws Fault
/// (unknown_instruction).
void apply_modifier(std::string_view text, const std::string& arch, Instruction& instruction);

}  // namespace mi300x
