#include "emulator/immediates.h"

#include "emulator/instruction_text.h"

namespace mi300x {
namespace {

struct NamedNumber {
  std::string_view name;
  u32 value;
};
constexpr NamedNumber hardware_registers[] = {
    {"HW_REG_MODE", 1},
    {"HW_REG_STATUS", 2},
    {"HW_REG_TRAPSTS", 3},
    {"HW_REG_HW_ID", 4},
    {"HW_REG_GPR_ALLOC", 5},
    {"HW_REG_LDS_ALLOC", 6},
    {"HW_REG_IB_STS", 7},
    {"HW_REG_SH_MEM_BASES", 15},
    {"HW_REG_TBA_LO", 16},
    {"HW_REG_TBA_HI", 17},
    {"HW_REG_TMA_LO", 18},
    {"HW_REG_TMA_HI", 19},
    {"HW_REG_XCC_ID", 20},
    {"HW_REG_SQ_PERF_SNAPSHOT_DATA", 21},
    {"HW_REG_SQ_PERF_SNAPSHOT_DATA1", 22},
    {"HW_REG_SQ_PERF_SNAPSHOT_PC_LO", 23},
    {"HW_REG_SQ_PERF_SNAPSHOT_PC_HI", 24},
};
constexpr NamedNumber messages[] = {
    {"MSG_INTERRUPT", 1},  {"MSG_SAVEWAVE", 4},      {"MSG_STALL_WAVE_GEN", 5},
    {"MSG_HALT_WAVES", 6}, {"MSG_GET_DOORBELL", 10},
};
constexpr NamedNumber index_modes[] = {{"SRC0", 1}, {"SRC1", 2}, {"SRC2", 4}, {"DST", 8}};

template <std::size_t count>
u32 named_number(const NamedNumber (&table)[count], std::string_view text) {
  const NamedNumber* entry = find_name(table, text);
  return entry != nullptr ? entry->value : static_cast<u32>(parse_integer(text));
}

/// Encodes five bits each: those of a lane's number that are kept, set and flipped.
u32 swizzle_mask(u32 keep, u32 gain, u32 flip) {
  return (keep & 31) | (gain & 31) << 5 | (flip & 31) << 10;
}

/// Parses "01pip", beginning with the highest bit of a lane's number: cleared, set, preserved or
/// inverted.
u32 swizzle_of_letters(std::string_view letters) {
  u32 keep = 0, gain = 0, flip = 0;
  for (const char letter : letters) {
    if (letter != '0' && letter != '1' && letter != 'p' && letter != 'i') {
      unknown_text("swizzle", letters);
    }
    keep = keep << 1 | (letter == 'p' || letter == 'i');
    gain = gain << 1 | (letter == '1');
    flip = flip << 1 | (letter == 'i');
  }
  return swizzle_mask(keep, gain, flip);
}

}  // namespace

u32 encode_hardware_register(std::string_view text) {
  std::string_view inside = text;
  if (!take_call(inside, "hwreg")) return static_cast<u16>(parse_integer(text));
  const auto parts = split(inside, ',');
  if (parts.size() != 1 && parts.size() != 3) unknown_text("hardware register", text);
  const u32 number = named_number(hardware_registers, parts[0]);
  const i64 first = parts.size() == 3 ? parse_integer(parts[1]) : 0;
  const i64 bits = parts.size() == 3 ? parse_integer(parts[2]) : 32;
  if (number > 63 || first < 0 || first > 31 || bits < 1 || bits > 32) {
    unknown_text("hardware register", text);
  }
  return number | static_cast<u32>(first) << 6 | static_cast<u32>(bits - 1) << 11;
}

u32 encode_message(std::string_view text) {
  std::string_view inside = text;
  if (!take_call(inside, "sendmsg")) return static_cast<u16>(parse_integer(text));
  return named_number(messages, inside);
}

u32 encode_index_mode(std::string_view text) {
  std::string_view inside = text;
  if (!take_call(inside, "gpr_idx")) return static_cast<u16>(parse_integer(text));
  u32 mode = 0;
  for (const std::string_view part : split(inside, ',')) mode |= named_number(index_modes, part);
  return mode;
}

u32 encode_swizzle(std::string_view text) {
  std::string_view inside = text;
  if (!take_call(inside, "swizzle")) return static_cast<u16>(parse_integer(text));
  const auto parts = split(inside, ',');
  const auto number = [&](std::size_t i) { return static_cast<u32>(parse_integer(parts[i])); };
  if (parts.size() == 5 && parts[0] == "QUAD_PERM") {
    return 0x8000 | number(1) | number(2) << 2 | number(3) << 4 | number(4) << 6;
  }
  if (parts.size() == 3 && parts[0] == "BROADCAST") {
    return swizzle_mask(~(number(1) - 1), number(2), 0);
  }
  if (parts.size() == 2 && parts[0] == "SWAP") return swizzle_mask(31, 0, number(1));
  if (parts.size() == 2 && parts[0] == "REVERSE") return swizzle_mask(31, 0, number(1) - 1);
  // The letters are quoted.
  if (parts.size() == 2 && parts[0] == "BITMASK_PERM" && parts[1].size() == 7) {
    return swizzle_of_letters(parts[1].substr(1, 5));
  }
  unknown_text("swizzle", text);
}

}  // namespace mi300x
