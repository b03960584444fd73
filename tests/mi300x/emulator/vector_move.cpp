// Moves: between registers, between lanes, and by a mask.
#include "emulator/vector_operation.h"

namespace mi300x {

namespace {

/// Returns one byte of the 64 bits {a, b}; selectors above 7 give a sign or a constant.
u32 selected_byte(u64 bytes, u32 selector) {
  if (selector < 8) return u32(bytes >> (8 * selector)) & 0xFF;
  if (selector < 12) return bytes >> (16 * (selector - 8) + 15) & 1 ? 0xFF : 0;
  return selector == 12 ? 0 : 0xFF;
}
u32 permuted(u32 a, u32 b, u32 selectors) {
  const u64 bytes = u64{a} << 32 | b;
  u32 result = 0;
  for (unsigned i = 0; i < 32; i += 8) result |= selected_byte(bytes, selectors >> i & 0xFF) << i;
  return result;
}

u32 lane_of(const Wave& wave, const Instruction& instruction, const Operand& lane) {
  if (lane.kind == OperandKind::vector)
    not_emulated(instruction, "a lane's number in a vector register");
  return u32(read_scalar(wave, lane)) & (wave_lanes - 1);
}
u32 lane_value(const Wave& wave, const Operand& source, u32 lane) {
  return source.kind == OperandKind::vector ? wave.vector[vector_index(wave, source, 0)].lane[lane]
                                            : u32(read_scalar(wave, source));
}

// These operations ignore EXEC.
void read_lane(Wave& wave, const Instruction& instruction) {
  const u32 lane = lane_of(wave, instruction, instruction.sources[1]);
  wave.set_scalar32(instruction.targets[0].index, lane_value(wave, instruction.sources[0], lane));
}
void read_first_lane(Wave& wave, const Instruction& instruction) {
  const u32 lane = wave.exec() ? u32(std::countr_zero(wave.exec())) : 0;
  wave.set_scalar32(instruction.targets[0].index, lane_value(wave, instruction.sources[0], lane));
}
void write_lane(Wave& wave, const Instruction& instruction) {
  const u32 lane = lane_of(wave, instruction, instruction.sources[1]);
  const unsigned index = vector_index(wave, instruction.targets[0], target_role);
  wave.vector[index].lane[lane] = u32(read_scalar(wave, instruction.sources[0]));
}

void swap_registers(Wave& wave, const Instruction& instruction) {
  alignas(64) u32 active[wave_lanes];
  spread_mask(wave.exec(), active);
  u32* a = wave.vector[instruction.targets[0].index].lane;
  u32* b = wave.vector[instruction.targets[1].index].lane;
  for (unsigned i = 0; i < wave_lanes; ++i) {
    const u32 change = (a[i] ^ b[i]) & active[i];
    a[i] ^= change;
    b[i] ^= change;
  }
}

/// Counts the bits of a mask that belong to lanes before a lane, in two halves of 32 lanes.
template <unsigned first_lane>
void count_before(Wave& wave, const Instruction& instruction) {
  alignas(64) u32 masks[wave_lanes], sums[wave_lanes], result[wave_lanes];
  const u32* mask = fetch32(wave, instruction, 0, masks);
  const u32* sum = fetch32(wave, instruction, 1, sums);
  for (unsigned i = 0; i < wave_lanes; ++i) {
    const u64 before = i < first_lane ? 0 : (u64{1} << (i - first_lane)) - 1;
    result[i] = u32(std::popcount(mask[i] & u32(before))) + sum[i];
  }
  store32(wave, instruction, result);
}

}  // namespace

void add_moves(VectorTable table) {
  constexpr auto move = [](u32 a) { return a; };
  table.add<move>("v_mov_b32");
  table.add<move>("v_accvgpr_read_b32");
  table.add<move>("v_accvgpr_write_b32");
  table.add<move>("v_accvgpr_mov_b32");
  table.add<[](Words a) { return a; }>("v_mov_b64");
  table.add<[](u32 a, u32 b, bool second) { return second ? b : a; }>("v_cndmask_b32");
  table.add<permuted>("v_perm_b32");
  table.add_special("v_nop", [](Wave&, const Instruction&) {}).targets = 0;
  table.add_special("v_readlane_b32", read_lane);
  table.add_special("v_readfirstlane_b32", read_first_lane);
  table.add_special("v_writelane_b32", write_lane).reads_target = true;
  Operation& swap = table.add_special("v_swap_b32", swap_registers);
  swap.targets = 2;
  swap.reads_target = true;
  table.add_special("v_mbcnt_lo_u32_b32", count_before<0>);
  table.add_special("v_mbcnt_hi_u32_b32", count_before<32>);
}

}  // namespace mi300x
