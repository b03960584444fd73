// One decoded instruction of gfx942 or gfx90a, parsed from llvm-objdump's text and ready to
// execute.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mi300x {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

struct Wave;
struct Instruction;

// ---- Registers ----

/// Every register has one number: VGPRs, accumulation VGPRs, then scalar registers as the hardware
/// numbers them in an operand.
constexpr unsigned first_accumulator = 256, first_scalar = 512;
namespace scalar {
constexpr unsigned flat_scratch = 102, xnack_mask = 104, vcc = 106, m0 = 124, exec = 126;
constexpr unsigned count = 128;
}  // namespace scalar

struct RegisterRange {
  u16 first = 0, count = 0;
};

// ---- Operands ----

enum class OperandKind : u8 {
  none,      ///< "off", or missing
  vector,    ///< index 0-511: VGPRs, then accumulation VGPRs
  scalar,    ///< index 0-127
  constant,  ///< `constant` holds its bits in the type that the operation reads
  special,   ///< one of Special
};

/// Read-only values that are not registers.
enum class Special : u8 {
  vccz,
  execz,
  scc,
  shared_base,
  shared_limit,
  private_base,
  private_limit
};

struct Operand {
  OperandKind kind = OperandKind::none;
  u8 words = 1;   ///< 32-bit registers it spans
  u16 index = 0;  ///< of the first one, or a Special
  u64 constant = 0;
  bool negate = false, absolute = false;  ///< for floats: -x, |x|
  bool sign_extend = false;               ///< sext() of SDWA
};

/// How an operation reads a source; it determines the bits of a constant and the effect of
/// modifiers. A packed type has two halves.
enum class Type : u8 { b16, b32, b64, f16, bf16, f32, f64, packed_b16, packed_f16, packed_f32 };

// ---- Operations ----

/// The part of the compute unit that executes; it determines waits, hazards and time.
enum class Unit : u8 {
  scalar,          ///< SOP1, SOP2, SOPC, SOPK
  program,         ///< SOPP: branches, s_waitcnt, s_nop, s_barrier, s_endpgm
  scalar_memory,   ///< SMEM
  vector,          ///< VOP1, VOP2, VOP3, VOPC, VOP3P without matrices
  transcendental,  ///< vector instructions at a quarter of the rate
  matrix,          ///< v_mfma_*, v_smfmac_*
  local,           ///< DS
  global,          ///< GLOBAL, and cache instructions
  flat,            ///< FLAT
  scratch,         ///< SCRATCH
};

/// An instruction's meaning without its encoding: "v_add_f32" for v_add_f32_e32, _e64, _sdwa, _dpp.
struct Operation {
  std::string_view name;
  void (*execute)(Wave&, const Instruction&) = nullptr;
  Unit unit = Unit::scalar;
  /// Number of leading operands in the text that are written. For atomics it is that of the form
  /// that returns the old value; the decoder subtracts one if the text has no target.
  u8 targets = 1;
  std::array<Type, 4> sources = {Type::b32, Type::b32, Type::b32, Type::b32};
  bool reads_target = false;                   ///< fmac, mac, and the like
  bool reads_vcc = false, writes_vcc = false;  ///< implicitly: v_div_fmas
  bool reads_scc = false, writes_scc = false;
  bool reads_m0 = false, writes_exec = false;  ///< implicitly: s_and_saveexec
};
using OperationTable = std::unordered_map<std::string_view, Operation>;

/// Returns every operation of the emulator, by name. The table is built once, from the files that
/// implement the operations.
const OperationTable& all_operations();
void add_scalar_operations(OperationTable&);   // scalar.cpp
void add_program_operations(OperationTable&);  // program.cpp: branches, waits, barriers
void add_vector_operations(OperationTable&);   // vector_*.cpp
void add_matrix_operations(OperationTable&);   // matrix.cpp
void add_global_memory_operations(
    OperationTable&);  // global_memory.cpp: SMEM, GLOBAL, FLAT, SCRATCH
void add_local_memory_operations(OperationTable&);  // ds.cpp, lane_exchange.cpp: DS

// ---- Instructions ----

/// DPP: from which lane a lane's first source comes.
struct Dpp {
  bool used = false;
  bool bound_control = false;  ///< bound_ctrl:1 (LLVM prints 1 or 0): invalid lanes read 0
  u8 row_mask = 0xF, bank_mask = 0xF;
  u16 control = 0;  ///< as the hardware encodes it: 0-0xFF quad_perm, 0x101 row_shl:1, ...
};
/// SDWA: which part of a register an operand is. 0-3 BYTE_n, 4-5 WORD_n, 6 DWORD.
struct Sdwa {
  bool used = false;
  u8 target = 6, target_unused = 0;  ///< 0 pad, 1 sign extend, 2 preserve
  std::array<u8, 2> source = {6, 6};
};

/// How the rules of hazards.h classify an instruction; filled by classify_hazards().
struct HazardClass {
  u64 first = 0, second = 0;  ///< rules that it can break as the earlier, the later instruction
  u64 registers = 0;          ///< marks of the registers that it reads or writes
  u8 states = 1;              ///< wait states that it counts for; more than one for s_nop
  u8 passes = 0;              ///< passes of a matrix instruction
  u8 queue = 0;               ///< which counter counts its completion
};

struct Instruction {
  const Operation* operation = nullptr;
  std::array<Operand, 2> targets;
  std::array<Operand, 5> sources;
  u8 target_count = 0, source_count = 0;

  bool clamp = false;
  u8 output_modifier = 0;  ///< 0 none, 1 mul:2, 2 mul:4, 3 div:2
  u8 op_sel = 0;           ///< bit n: source n; bit 3: the target. VOP3P: which half is the low one
  u8 op_sel_hi = 0x7;      ///< VOP3P: which half is the high one
  u8 neg_lo = 0, neg_hi = 0;
  Dpp dpp;
  Sdwa sdwa;
  u8 cbsz = 0, abid = 0, blgp = 0;  ///< for matrix instructions; blgp is neg:[a,b,c] of f64 ones

  /// The byte offset of a memory instruction (for ds_swizzle its pattern). A scalar load's constant
  /// offset is here, too; its sources are the base and, if the text has one, the register that is
  /// added.
  i32 offset = 0;
  u8 offset0 = 0, offset1 = 0;                ///< of ds_read2 and similar ones, in elements
  bool sc0 = false, sc1 = false, nt = false;  ///< cache bits; gfx90a: glc, scc, slc
  bool lds = false;                           ///< loads into LDS instead of registers
  bool offen = false, idxen = false;          ///< BUFFER: an offset, an index per lane

  /// The 16 bits of SOPP and SOPK: s_nop's count, a branch's distance, the encoded hwreg of
  /// s_getreg and s_setreg (whose value is source 0), s_sendmsg's message, the mode of
  /// s_set_gpr_idx_on. The constant of s_movk_i32, s_addk_i32, s_cmpk_* is also the last source,
  /// extended to 32 bits as the operation does.
  u32 immediate = 0;
  u32 branch = 0;                                          ///< index of the branch's target
  u8 wait_vector = 63, wait_scalar = 15, wait_export = 7;  ///< s_waitcnt: vmcnt, lgkmcnt, expcnt

  u64 address = 0;  ///< address of its first byte in the loaded code
  u32 bytes = 4;
  std::string text;    ///< as disassembled, for messages
  std::string source;  ///< "memory.cu:42"; empty without line tables

  /// Registers that are read and written, including implicit ones. A write that leaves some lanes
  /// unchanged counts as a write.
  std::vector<RegisterRange> reads, writes;
  HazardClass hazards;
};

}  // namespace mi300x
