#include "emulator/modifiers.h"

#include "emulator/immediates.h"
#include "emulator/instruction_text.h"

namespace mi300x {
namespace {

// ---- Modifiers without a value ----

struct Flag {
  std::string_view name;
  void (*set)(Instruction&);
};
constexpr Flag flags[] = {
    {"clamp", [](Instruction& i) { i.clamp = true; }},
    {"mul:2", [](Instruction& i) { i.output_modifier = 1; }},
    {"mul:4", [](Instruction& i) { i.output_modifier = 2; }},
    {"div:2", [](Instruction& i) { i.output_modifier = 3; }},
    {"lds", [](Instruction& i) { i.lds = true; }},
    {"offen", [](Instruction& i) { i.offen = true; }},
    {"idxen", [](Instruction& i) { i.idxen = true; }},
};
constexpr Flag cache_bits_gfx942[] = {
    {"sc0", [](Instruction& i) { i.sc0 = true; }},
    {"sc1", [](Instruction& i) { i.sc1 = true; }},
    {"nt", [](Instruction& i) { i.nt = true; }},
};
constexpr Flag cache_bits_gfx90a[] = {
    {"glc", [](Instruction& i) { i.sc0 = true; }},
    {"scc", [](Instruction& i) { i.sc1 = true; }},
    {"slc", [](Instruction& i) { i.nt = true; }},
};

template <std::size_t count>
bool apply_flag(const Flag (&table)[count], std::string_view text, Instruction& instruction) {
  const Flag* flag = find_name(table, text);
  if (flag != nullptr) flag->set(instruction);
  return flag != nullptr;
}

// ---- DPP ----

/// "row_shr:1" is 0x110 + 1. For shifts with a single value `most` and `least` are equal.
struct LaneShift {
  std::string_view name;
  unsigned base, least, most;
};
constexpr LaneShift lane_shifts[] = {
    {"row_shl", 0x100, 1, 15},     {"row_shr", 0x110, 1, 15},      {"row_ror", 0x120, 1, 15},
    {"wave_shl", 0x130 - 1, 1, 1}, {"wave_rol", 0x134 - 1, 1, 1},  {"wave_shr", 0x138 - 1, 1, 1},
    {"wave_ror", 0x13C - 1, 1, 1}, {"row_newbcast", 0x150, 0, 15},
};

void set_control(Instruction& instruction, unsigned control) {
  instruction.dpp.used = true;
  instruction.dpp.control = static_cast<u16>(control);
}

bool apply_lane_control(std::string_view name, std::string_view value, Instruction& instruction) {
  if (name == "quad_perm") {
    const auto lanes = parse_list(value);
    if (lanes.size() != 4) unknown_text("modifier", value);
    unsigned control = 0;
    for (unsigned i = 0; i < 4; ++i) {
      if (lanes[i] < 0 || lanes[i] > 3) unknown_text("modifier", value);
      control |= static_cast<unsigned>(lanes[i]) << (2 * i);
    }
    set_control(instruction, control);
    return true;
  }
  if (name == "row_mirror" || name == "row_half_mirror") {
    set_control(instruction, name == "row_mirror" ? 0x140 : 0x141);
    return true;
  }
  if (name == "row_bcast") {
    if (value != "15" && value != "31") unknown_text("modifier", value);
    set_control(instruction, value == "15" ? 0x142 : 0x143);
    return true;
  }
  for (const LaneShift& shift : lane_shifts) {
    if (shift.name != name) continue;
    const i64 lanes = parse_integer(value);
    if (lanes < shift.least || lanes > shift.most) unknown_text("modifier", value);
    set_control(instruction, shift.base + static_cast<unsigned>(lanes));
    return true;
  }
  return false;
}

// ---- SDWA ----

u8 selection(std::string_view text) {
  static constexpr std::string_view names[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                               "WORD_0", "WORD_1", "DWORD"};
  for (u8 i = 0; i < std::size(names); ++i) {
    if (names[i] == text) return i;
  }
  unknown_text("modifier", text);
}

u8 unused_part(std::string_view text) {
  if (text == "UNUSED_PAD") return 0;
  if (text == "UNUSED_SEXT") return 1;
  if (text == "UNUSED_PRESERVE") return 2;
  unknown_text("modifier", text);
}

bool apply_part(std::string_view name, std::string_view value, Sdwa& sdwa) {
  if (name == "dst_sel") {
    sdwa.target = selection(value);
  } else if (name == "dst_unused") {
    sdwa.target_unused = unused_part(value);
  } else if (name == "src0_sel") {
    sdwa.source[0] = selection(value);
  } else if (name == "src1_sel") {
    sdwa.source[1] = selection(value);
  } else {
    return false;
  }
  return true;
}

// ---- Lists of one bit per operand ----

u8 bits(std::string_view text, std::size_t most) {
  const auto list = parse_list(text);
  if (list.size() > most) unknown_text("modifier", text);
  u8 bits = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] != 0 && list[i] != 1) unknown_text("modifier", text);
    bits = static_cast<u8>(bits | list[i] << i);
  }
  return bits;
}

/// An extra entry, after those of the sources, stands for the target, which is bit 3.
u8 operand_halves(std::string_view text, const Instruction& instruction) {
  const u8 all = bits(text, 4);
  const std::size_t entries = parse_list(text).size();
  if (entries == 4 || entries <= instruction.source_count) return all;
  const u8 target = static_cast<u8>(1u << (entries - 1));
  return static_cast<u8>((all & ~target) | ((all & target) != 0 ? 8 : 0));
}

bool apply_bits(std::string_view name, std::string_view value, Instruction& instruction) {
  if (name == "op_sel") {
    instruction.op_sel = operand_halves(value, instruction);
  } else if (name == "op_sel_hi") {
    instruction.op_sel_hi = bits(value, 3);
  } else if (name == "neg_lo") {
    instruction.neg_lo = bits(value, 3);
  } else if (name == "neg_hi") {
    instruction.neg_hi = bits(value, 3);
  } else if (name == "neg") {
    instruction.blgp = bits(value, 3);
  } else {
    return false;
  }
  return true;
}

// ---- Numbers ----

struct Number {
  std::string_view name;
  i64 most;
  void (*set)(Instruction&, u8);
};
constexpr Number numbers[] = {
    {"offset0", 255, [](Instruction& i, u8 value) { i.offset0 = value; }},
    {"offset1", 255, [](Instruction& i, u8 value) { i.offset1 = value; }},
    {"cbsz", 7, [](Instruction& i, u8 value) { i.cbsz = value; }},
    {"abid", 15, [](Instruction& i, u8 value) { i.abid = value; }},
    {"blgp", 7, [](Instruction& i, u8 value) { i.blgp = value; }},
    {"row_mask", 15, [](Instruction& i, u8 value) { i.dpp.row_mask = value; }},
    {"bank_mask", 15, [](Instruction& i, u8 value) { i.dpp.bank_mask = value; }},
    {"bound_ctrl", 1, [](Instruction& i, u8) { i.dpp.bound_control = true; }},
};

bool apply_number(std::string_view name, std::string_view value, Instruction& instruction) {
  if (name == "offset") {
    instruction.offset = value.starts_with("swizzle") ? static_cast<i32>(encode_swizzle(value))
                                                      : static_cast<i32>(parse_integer(value));
    return true;
  }
  for (const Number& number : numbers) {
    if (number.name != name) continue;
    const i64 parsed = parse_integer(value);
    if (parsed < 0 || parsed > number.most) unknown_text("modifier", value);
    number.set(instruction, static_cast<u8>(parsed));
    return true;
  }
  return false;
}

}  // namespace

void apply_modifier(std::string_view text, const std::string& arch, Instruction& instruction) {
  if (apply_flag(flags, text, instruction)) return;
  const bool cache_bit = arch == "gfx90a" ? apply_flag(cache_bits_gfx90a, text, instruction)
                                          : apply_flag(cache_bits_gfx942, text, instruction);
  if (cache_bit) return;
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view value =
      colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  if (apply_lane_control(name, value, instruction) || apply_part(name, value, instruction.sdwa) ||
      apply_bits(name, value, instruction) || apply_number(name, value, instruction)) {
    return;
  }
  unknown_text("modifier", text);
}

}  // namespace mi300x
