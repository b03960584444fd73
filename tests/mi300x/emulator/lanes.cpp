#include "emulator/lanes.h"

#include <algorithm>
#include <vector>

namespace mi300x {

namespace {

constexpr u32 no_lane = 0xFF;

/// Determines which lane each lane reads under a DPP control, by AMD's table of DPP_CTRL for gfx9
/// (and row_newbcast of gfx90a); no_lane if there is none. Returns false if gfx9 has no such
/// control.
bool dpp_lanes(u32 control, u32* from) {
  const u32 amount = control & 0xF;
  for (u32 lane = 0; lane < wave_lanes; ++lane) {
    const u32 row = lane & ~15u, in_row = lane & 15;
    u32 source = no_lane;
    if (control < 0x100)  // quad_perm
      source = (lane & ~3u) | (control >> (2 * (lane & 3)) & 3);
    else if (control > 0x100 && control <= 0x10F)  // row_shl
      source = in_row + amount < 16 ? lane + amount : no_lane;
    else if (control > 0x110 && control <= 0x11F)  // row_shr
      source = in_row >= amount ? lane - amount : no_lane;
    else if (control > 0x120 && control <= 0x12F)  // row_ror
      source = row | ((in_row + 16 - amount) & 15);
    else if (control == 0x130)  // wave_shl:1
      source = lane < 63 ? lane + 1 : no_lane;
    else if (control == 0x134)  // wave_rol:1
      source = (lane + 1) & 63;
    else if (control == 0x138)  // wave_shr:1
      source = lane > 0 ? lane - 1 : no_lane;
    else if (control == 0x13C)  // wave_ror:1
      source = (lane + 63) & 63;
    else if (control == 0x140)  // row_mirror
      source = row | (15 - in_row);
    else if (control == 0x141)  // row_half_mirror
      source = (lane & ~7u) | (7 - (lane & 7));
    else if (control == 0x142)  // row_bcast:15, the last lane of the row before
      source = lane > 15 ? row - 1 : no_lane;
    else if (control == 0x143)  // row_bcast:31
      source = lane > 31 ? 31 : no_lane;
    else if (control >= 0x150 && control <= 0x15F)  // row_newbcast
      source = row | amount;
    else
      return false;
    from[lane] = source;
  }
  return true;
}

struct DppTable {
  bool known = false;
  alignas(64) u32 from[wave_lanes];      ///< 0 if there is no source lane
  alignas(64) u32 in_range[wave_lanes];  ///< all ones if there is a source lane
};

const DppTable& dpp_table(const Instruction& instruction) {
  constexpr u32 controls = 0x160;
  static const std::vector<DppTable> tables = [] {
    std::vector<DppTable> built(controls);
    for (u32 control = 0; control < controls; ++control) {
      DppTable& table = built[control];
      table.known = dpp_lanes(control, table.from);
      for (unsigned i = 0; table.known && i < wave_lanes; ++i) {
        table.in_range[i] = table.from[i] == no_lane ? 0 : ~u32{0};
        table.from[i] &= table.in_range[i];
      }
    }
    return built;
  }();
  const u32 control = instruction.dpp.control;
  if (control >= controls || !tables[control].known)
    not_emulated(instruction, "this DPP control is not one of gfx9");
  return tables[control];
}

/// Sets all ones in lanes whose source lane exists and is active.
void valid_lanes(u64 exec, const DppTable& table, u32* valid) {
  alignas(64) u32 active[wave_lanes];
  spread_mask(exec, active);
  for (unsigned i = 0; i < wave_lanes; ++i) valid[i] = active[table.from[i]] & table.in_range[i];
}

/// Puts SDWA's part of a register into the low bits: 0-3 a byte, 4-5 a half, 6 all.
void select_part(const Instruction& instruction, unsigned source, const u32* from, u32* to) {
  const u8 part = instruction.sdwa.source[source];
  const unsigned bits = part < 4 ? 8 : part < 6 ? 16 : 32;
  const unsigned start = part < 4 ? part * 8u : part < 6 ? (part - 4) * 16u : 0;
  const unsigned left = 32 - bits - start, right = 32 - bits;
  if (instruction.sources[source].sign_extend)
    for (unsigned i = 0; i < wave_lanes; ++i) to[i] = u32(i32(from[i] << left) >> right);
  else
    for (unsigned i = 0; i < wave_lanes; ++i) to[i] = from[i] << left >> right;
}

bool has_part(const Instruction& instruction, unsigned source) {
  return instruction.sdwa.used && source < 2 &&
         (instruction.sdwa.source[source] != 6 || instruction.sources[source].sign_extend);
}

void modify_sign(const Operand& operand, unsigned sign_bit, const u32* from, u32* to) {
  const u32 sign = u32{1} << sign_bit;
  const u32 kept = operand.absolute ? ~sign : ~u32{0}, flipped = operand.negate ? sign : 0;
  for (unsigned i = 0; i < wave_lanes; ++i) to[i] = (from[i] & kept) ^ flipped;
}

}  // namespace

void not_emulated(const Instruction& instruction, const char* reason) {
  throw Fault(FaultKind::unknown_instruction, instruction.text + ": " + reason);
}

const u32* fetch_word(const Wave& wave, const Instruction& instruction, unsigned source,
                      unsigned word, u32* storage) {
  const Operand& operand = instruction.sources[source];
  if (operand.kind != OperandKind::vector) {
    const u64 value = read_scalar(wave, operand);
    std::fill_n(storage, wave_lanes, u32(word ? value >> 32 : value));
    return storage;
  }
  const u32* lanes = wave.vector[vector_index(wave, operand, source) + word].lane;
  if (source != 0 || !instruction.dpp.used) return lanes;
  const DppTable& table = dpp_table(instruction);
  alignas(64) u32 valid[wave_lanes];
  valid_lanes(wave.exec(), table, valid);
  for (unsigned i = 0; i < wave_lanes; ++i) storage[i] = lanes[table.from[i]] & valid[i];
  return storage;
}

const u32* prepare32(const Wave& wave, const Instruction& instruction, unsigned source,
                     u32* storage) {
  const Operand& operand = instruction.sources[source];
  const u32* lanes = fetch_word(wave, instruction, source, 0, storage);
  if (has_part(instruction, source)) {
    select_part(instruction, source, lanes, storage);
    lanes = storage;
  }
  if (operand.negate || operand.absolute) {
    modify_sign(operand, 31, lanes, storage);
    lanes = storage;
  }
  return lanes;
}

Words64 prepare64(const Wave& wave, const Instruction& instruction, unsigned source,
                  u32* low_storage, u32* high_storage) {
  const u32* low = fetch_word(wave, instruction, source, 0, low_storage);
  const u32* high = fetch_word(wave, instruction, source, 1, high_storage);
  const Operand& operand = instruction.sources[source];
  if (operand.negate || operand.absolute) {
    modify_sign(operand, 31, high, high_storage);
    high = high_storage;
  }
  return {low, high};
}

void prepare16(const Wave& wave, const Instruction& instruction, unsigned source, u32* storage) {
  const Operand& operand = instruction.sources[source];
  const u32* lanes = fetch_word(wave, instruction, source, 0, storage);
  if (has_part(instruction, source)) {
    select_part(instruction, source, lanes, storage);
    lanes = storage;
  }
  const unsigned shift = instruction.op_sel >> source & 1 ? 16 : 0;
  for (unsigned i = 0; i < wave_lanes; ++i) storage[i] = lanes[i] >> shift & 0xFFFF;
  if (operand.negate || operand.absolute) modify_sign(operand, 15, storage, storage);
}

u64 written_lanes(const Wave& wave, const Instruction& instruction) {
  const u64 exec = wave.exec();
  const Dpp& dpp = instruction.dpp;
  if (!dpp.used) return exec;
  alignas(64) u32 valid[wave_lanes];
  valid_lanes(exec, dpp_table(instruction), valid);
  u64 chosen = 0;  // row_mask has a bit for each 16 lanes, bank_mask one for four lanes of each row
  for (unsigned i = 0; i < wave_lanes / 4; ++i)
    if (dpp.row_mask >> (i / 4) & dpp.bank_mask >> (i % 4) & 1) chosen |= u64{0xF} << (4 * i);
  return exec & chosen & (dpp.bound_control ? all_lanes : gather_mask(valid));
}

void store32_partly(Wave& wave, const Instruction& instruction, unsigned register_index,
                    const u32* result) {
  alignas(64) u32 written[wave_lanes], placed[wave_lanes];
  spread_mask(written_lanes(wave, instruction), written);
  u32* lanes = wave.vector[register_index].lane;
  const Sdwa& sdwa = instruction.sdwa;
  if (sdwa.used && sdwa.target < 6) {
    const unsigned bits = sdwa.target < 4 ? 8 : 16;
    const unsigned start = sdwa.target < 4 ? sdwa.target * 8u : (sdwa.target - 4) * 16u;
    const u32 part = (bits == 8 ? 0xFFu : 0xFFFFu) << start;
    for (unsigned i = 0; i < wave_lanes; ++i) {
      const u32 value = result[i] << start & part;
      // UNUSED_SEXT fills the bits above with the part's sign and those below with 0.
      const u32 extended = u32(i32(result[i] << (32 - bits)) >> (32 - bits)) << start;
      placed[i] = sdwa.target_unused == 2   ? (lanes[i] & ~part) | value
                  : sdwa.target_unused == 1 ? extended
                                            : value;
    }
    result = placed;
  }
  for (unsigned i = 0; i < wave_lanes; ++i)
    lanes[i] = (lanes[i] & ~written[i]) | (result[i] & written[i]);
}

void store16(Wave& wave, const Instruction& instruction, const u32* result, bool keeps_half) {
  if (!keeps_half || instruction.sdwa.used) {
    store32(wave, instruction, result);
    return;
  }
  alignas(64) u32 merged[wave_lanes];
  const u32* lanes = wave.vector[vector_index(wave, instruction.targets[0], target_role)].lane;
  const bool high = instruction.op_sel >> 3 & 1;
  for (unsigned i = 0; i < wave_lanes; ++i)
    merged[i] = high ? (lanes[i] & 0xFFFF) | result[i] << 16
                     : (lanes[i] & 0xFFFF0000) | (result[i] & 0xFFFF);
  store32(wave, instruction, merged);
}

}  // namespace mi300x
