// A wave of 64 lanes: its registers and its position in the program.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "emulator/instruction.h"

namespace mi300x {

constexpr unsigned wave_lanes = 64;
constexpr u64 all_lanes = ~u64{0};

/// One vector register.
struct alignas(64) Lanes {
  u32 lane[wave_lanes];
};

class Workgroup;    // workgroup.h: LDS, the waves that share it, the launch they belong to
class HazardCheck;  // hazards.h: waits and wait states of one wave
class LocalMemory;  // local_memory.h: LDS of the workgroup

struct Wave {
  Lanes* vector = nullptr;  ///< 512: VGPRs, then accumulation VGPRs; garbage until written
  alignas(8) u32 scalar_registers[scalar::count] = {};
  bool scc = false;
  u32 mode = 0x3C0 >> 2;  ///< HW_REG_MODE: round to nearest even, denormals kept
  u32 next = 0;           ///< index of the next instruction
  bool ended = false, at_barrier = false;

  Workgroup* group = nullptr;
  LocalMemory* local = nullptr;  ///< of its workgroup
  unsigned index = 0;            ///< of the wave in its workgroup
  char* scratch = nullptr;       ///< its private memory: lane n's bytes begin at n * scratch_bytes
  u32 scratch_bytes = 0;         ///< of one lane
  std::vector<u8> scratch_written;  ///< 1 for each byte of scratch ever written; empty: none was
  HazardCheck* hazards = nullptr;
  u64 instructions = 0;          ///< executed so far
  u64 cycles = 0;                ///< of the time model
  bool read_wall_clock = false;  ///< s_memrealtime was executed before
  u64 random = 1;                ///< state of the generator behind its garbage and its interleaving

  // ---- Scalar registers ----

  u32 scalar32(unsigned index) const { return scalar_registers[index]; }
  void set_scalar32(unsigned index, u32 value) { scalar_registers[index] = value; }
  u64 scalar64(unsigned index) const {
    u64 value;
    std::memcpy(&value, scalar_registers + index, sizeof value);
    return value;
  }
  void set_scalar64(unsigned index, u64 value) {
    std::memcpy(scalar_registers + index, &value, sizeof value);
  }
  u64 exec() const { return scalar64(scalar::exec); }
  void set_exec(u64 lanes) { set_scalar64(scalar::exec, lanes); }
  u64 vcc() const { return scalar64(scalar::vcc); }
  void set_vcc(u64 lanes) { set_scalar64(scalar::vcc, lanes); }
};

/// A scalar source of one or two registers, a constant, or a special value. Two-word operands of
/// Special read their 64 bits.
u64 read_scalar(const Wave& wave, const Operand& operand);

}  // namespace mi300x
