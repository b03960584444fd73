// Encodes immediates that are written like calls, as the hardware does. A bare number is accepted,
// too. All functions throw Fault (unknown_instruction).
#pragma once

#include <string_view>

#include "emulator/instruction.h"

namespace mi300x {

u32 encode_hardware_register(std::string_view text);  ///< hwreg(HW_REG_MODE, 0, 4)
u32 encode_message(std::string_view text);            ///< sendmsg(MSG_INTERRUPT)
u32 encode_index_mode(std::string_view text);         ///< gpr_idx(SRC0,DST)
u32 encode_swizzle(std::string_view text);            ///< swizzle(QUAD_PERM,0,1,2,3)

}  // namespace mi300x
