// The operands of vector instructions, for all 64 lanes at once: sources with their modifiers, DPP
// and SDWA; results under EXEC. Plain registers take a fast path; everything else is in lanes.cpp.
#pragma once

#include <bit>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/// Precedes a loop over independent lanes whose pointers the compiler assumes may alias. Clang
/// needs no such hint, and warns if it cannot vectorize the loop anyway.
#if defined(__clang__)
#define INDEPENDENT_LANES
#else
#define INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif

#include "emulator/fault.h"
#include "emulator/wave.h"

namespace mi300x {

// ---- MODE ----

namespace mode {
constexpr u32 rounding = 0xF;           ///< of f32, then of f64 and f16; 0: to nearest even
constexpr u32 f32_input = 1 << 4;       ///< if set, f32 denormals are read unchanged, else as 0
constexpr u32 f32_output = 1 << 5;      ///< if set, f32 results can be denormals, else 0
constexpr u32 wide_denormals = 3 << 6;  ///< the same two bits for f64 and f16
constexpr u32 dx10_clamp = 1 << 8;      ///< clamp turns NaN into 0
constexpr u32 ieee = 1 << 9;            ///< signalling NaNs become quiet in min and max
constexpr u32 f16_overflow = 1 << 23;   ///< conversions saturate
constexpr u32 indexing = 1 << 27;       ///< s_set_gpr_idx_on
}  // namespace mode

/// Returns the NaN with its quiet bit set.
inline float quiet(float x) {
  return std::bit_cast<float>(std::bit_cast<u32>(x) | 0x400000);
}
inline double quiet(double x) {
  return std::bit_cast<double>(std::bit_cast<u64>(x) | u64{1} << 51);
}

// ---- Registers ----

/// Returns the number of a vector register. s_set_gpr_idx adds M0[7:0] to the operands selected by
/// M0[15:12] (bits 0-2: sources, bit 3: the target).
inline unsigned vector_index(const Wave& wave, const Operand& operand, unsigned role) {
  if (!(wave.mode & mode::indexing)) [[likely]]
    return operand.index;
  const u32 m0 = wave.scalar32(scalar::m0);
  if (!(m0 >> 12 >> role & 1)) return operand.index;
  const unsigned index = operand.index + (m0 & 0xFF);
  if (index + operand.words > first_accumulator)
    throw Fault(FaultKind::illegal_address,
                "an indexed vector register lies past v255: v" + std::to_string(index));
  return index;
}
constexpr unsigned target_role = 3;

// ---- Masks: one bit per lane ----

/// Converts bit n of `mask` to 0 or all ones in lane n.
inline void spread_mask(u64 mask, u32* flags) {
  const u32 low = u32(mask), high = u32(mask >> 32);
  for (unsigned i = 0; i < 32; ++i) flags[i] = -(low >> i & 1);
  for (unsigned i = 0; i < 32; ++i) flags[32 + i] = -(high >> i & 1);
}

/// Collects the sign bit of every lane's flag.
inline u64 gather_mask(const u32* flags) {
  u64 mask = 0;
#if defined(__AVX2__)
  for (unsigned i = 0; i < wave_lanes; i += 8) {
    const __m256i eight = _mm256_load_si256(reinterpret_cast<const __m256i*>(flags + i));
    mask |= u64(u32(_mm256_movemask_ps(_mm256_castsi256_ps(eight)))) << i;
  }
#else
  for (unsigned i = 0; i < wave_lanes; ++i) mask |= u64(flags[i] >> 31) << i;
#endif
  return mask;
}

// ---- Sources ----

/// Fetches one word of a source for every lane, with DPP but without modifiers and SDWA. The result
/// is the register itself or `storage`.
const u32* fetch_word(const Wave& wave, const Instruction& instruction, unsigned source,
                      unsigned word, u32* storage);

/// These are the general cases of the functions below.
const u32* prepare32(const Wave& wave, const Instruction& instruction, unsigned source,
                     u32* storage);
struct Words64;
Words64 prepare64(const Wave& wave, const Instruction& instruction, unsigned source,
                  u32* low_storage, u32* high_storage);
void prepare16(const Wave& wave, const Instruction& instruction, unsigned source, u32* storage);

inline bool plain_register(const Wave& wave, const Instruction& instruction,
                           const Operand& operand) {
  return operand.kind == OperandKind::vector && !operand.negate && !operand.absolute &&
         !instruction.dpp.used && !instruction.sdwa.used && !(wave.mode & mode::indexing);
}

/// Fetches 32 bits per lane; -x and |x| act on the sign bit.
inline const u32* fetch32(const Wave& wave, const Instruction& instruction, unsigned source,
                          u32* storage) {
  const Operand& operand = instruction.sources[source];
  if (plain_register(wave, instruction, operand)) [[likely]]
    return wave.vector[operand.index].lane;
  return prepare32(wave, instruction, source, storage);
}

/// 64 bits per lane: the registers of the low and the high words.
struct Words64 {
  const u32 *low, *high;
  u64 operator[](unsigned lane) const { return u64{high[lane]} << 32 | low[lane]; }
};
inline Words64 fetch64(const Wave& wave, const Instruction& instruction, unsigned source,
                       u32* low_storage, u32* high_storage) {
  const Operand& operand = instruction.sources[source];
  if (plain_register(wave, instruction, operand)) [[likely]]
    return {wave.vector[operand.index].lane, wave.vector[operand.index + 1].lane};
  return prepare64(wave, instruction, source, low_storage, high_storage);
}

/// Fetches the half that op_sel or SDWA selects into the low bits; the high ones are 0.
inline const u32* fetch16(const Wave& wave, const Instruction& instruction, unsigned source,
                          u32* storage) {
  prepare16(wave, instruction, source, storage);
  return storage;
}

/// Fetches a mask in scalar registers as 0 or all ones per lane.
inline const u32* fetch_mask(const Wave& wave, const Instruction& instruction, unsigned source,
                             u32* storage) {
  spread_mask(read_scalar(wave, instruction.sources[source]), storage);
  return storage;
}

// ---- Results ----

/// Returns EXEC without the lanes that DPP disables: those outside row_mask and bank_mask, and
/// those whose source lane is out of range or inactive (with bound_ctrl the latter read 0 instead).
u64 written_lanes(const Wave& wave, const Instruction& instruction);

void store32_partly(Wave& wave, const Instruction& instruction, unsigned register_index,
                    const u32* result);

/// Stores to the lanes that are written; SDWA puts the result into a part of the register.
inline void store_register(Wave& wave, const Instruction& instruction, unsigned register_index,
                           const u32* result) {
  if (wave.exec() == all_lanes && !instruction.dpp.used && !instruction.sdwa.used) [[likely]]
    std::memcpy(wave.vector[register_index].lane, result, sizeof(Lanes));
  else
    store32_partly(wave, instruction, register_index, result);
}
inline void store32(Wave& wave, const Instruction& instruction, const u32* result) {
  store_register(wave, instruction, vector_index(wave, instruction.targets[0], target_role),
                 result);
}
inline void store64(Wave& wave, const Instruction& instruction, const u32* low, const u32* high) {
  const unsigned index = vector_index(wave, instruction.targets[0], target_role);
  store_register(wave, instruction, index, low);
  store_register(wave, instruction, index + 1, high);
}

/// Stores a result of 16 bits. Most operations of gfx9 clear the other half of the register.
/// Operations with op_sel (`keeps_half`) leave it, and op_sel's bit 3 selects the high half.
void store16(Wave& wave, const Instruction& instruction, const u32* result, bool keeps_half);

/// Stores a mask in a pair of scalar registers, with 0 for inactive lanes.
inline void store_mask(Wave& wave, const Instruction& instruction, const Operand& target,
                       u64 mask) {
  wave.set_scalar64(target.index, mask & written_lanes(wave, instruction));
}

/// Throws Fault (unknown_instruction) with the instruction's text and the reason why it is not
/// emulated.
[[noreturn]] void not_emulated(const Instruction& instruction, const char* reason);

}  // namespace mi300x
