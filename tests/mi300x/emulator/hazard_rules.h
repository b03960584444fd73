// The rules of wait states: how many each pair of instructions needs between them. The hardware
// does not wait in these cases, so the code must.
#pragma once

#include <span>

#include "emulator/instruction.h"

namespace mi300x {

/// The kinds of instructions that the rules distinguish.
namespace trait {
enum Trait : u32 {
  valu = 1 << 0,     ///< vector ALU, matrix instructions included
  plain = 1 << 1,    ///< vector ALU without matrix instructions
  dot = 1 << 2,      ///< v_dot*
  not_dot = 1 << 3,  ///< plain without v_dot*
  transcendental = 1 << 4,
  not_transcendental = 1 << 5,
  part_written = 1 << 6,  ///< writes a part of a register: SDWA, or op_sel of the target
  dpp = 1 << 7,
  read_lane = 1 << 8,     ///< v_readlane, v_readfirstlane
  any_lane = 1 << 9,      ///< read_lane and v_writelane
  lane_select = 1 << 10,  ///< v_readlane, v_writelane
  div_fmas = 1 << 11,
  fma_f64 = 1 << 12,
  writes_vcc = 1 << 13,
  writes_exec = 1 << 14,
  matrix = 1 << 15,    ///< v_mfma, v_smfmac; each is also one of the next four
  xdl = 1 << 16,       ///< gfx942: all but f32 and f64. gfx90a: all but f64
  sgemm = 1 << 17,     ///< gfx942: f32
  dgemm_4 = 1 << 18,   ///< f64 4x4x4
  dgemm_16 = 1 << 19,  ///< f64 16x16x4
  two_passes = 1 << 20,
  memory = 1 << 21,      ///< VMEM, FLAT, LDS
  vmem = 1 << 22,        ///< VMEM, FLAT
  wide_store = 1 << 23,  ///< of more than 64 bits
  salu_writes_m0 = 1 << 24,
  reads_m0 = 1 << 25,  ///< LDS add-TID, loads into LDS, s_movrel, s_sendmsg
  set_register = 1 << 26,
  get_or_set_register = 1 << 27,
  dgemm = 1 << 28,
  not_xdl = 1 << 29,  ///< matrix instructions other than xdl
};
}  // namespace trait

/// The relation between the two instructions of a rule.
enum class Meeting : u8 {
  always,
  scalar_read,       ///< the first writes a scalar register (not EXEC) that the second reads
  select_read,       ///< as scalar_read, but as the second's lane select
  vector_read,       ///< the first writes a vector register that the second reads
  vector_written,    ///< the first writes a vector register that the second writes
  read_as_ab,        ///< the second, a matrix instruction, reads it as A, B or sparse indices
  read_as_same_c,    ///< the first's D is the second's C
  read_as_other_c,   ///< the first's D and the second's C overlap otherwise
  c_written,         ///< the second writes into the first's C
  data_written,      ///< the second writes the data that the first stores
  same_register,     ///< both name one hardware register
  read_as_product,   ///< v_dot: another operation reads it at all, or the same one as A or B
  written_by_other,  ///< v_dot: another operation writes it
};

namespace chip {
enum Chips : u8 { gfx942 = 1, gfx90a = 2, both = 3 };
}  // namespace chip

struct Rule {
  chip::Chips chips;
  u32 first, second;  ///< traits that the earlier instruction must have, and those of the later one
  Meeting meeting;
  int states;    ///< wait states needed between them
  int per_pass;  ///< additional wait states for each pass of the first
  const char* what;

  constexpr int needed(int passes) const { return states + per_pass * passes; }
};

/// There are at most 64 rules: a set of rules is a word in which bit n is rule n.
std::span<const Rule> wait_state_rules();
constexpr unsigned longest_wait = 19;  ///< the largest number of wait states that a rule requires
/// Returns the rules that can still be violated after `states` wait states.
u64 rules_beyond(u64 states);

/// Returns whether the two instructions have the relation that the rule describes.
bool meet(Meeting meeting, const Instruction& first, const Instruction& second);
/// Returns whether an instruction can be the first or the second one of such a relation.
bool can_begin(Meeting meeting, const Instruction& instruction);
bool can_end(Meeting meeting, const Instruction& instruction);

/// Returns whether one of the ranges contains one of `count` registers from `first` on.
bool touches(const std::vector<RegisterRange>& ranges, unsigned first, unsigned count);

}  // namespace mi300x
