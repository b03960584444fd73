// Checks what the code must ensure because the hardware does not: s_waitcnt before a loaded
// register is used, and wait states between certain instructions (CDNA3 ISA, "Manually Inserted
// Wait States"; LLVM's GCNHazardRecognizer; hazard_rules.h).
#pragma once

#include <array>
#include <vector>

#include "emulator/wave.h"

namespace mi300x {

/// Which counter counts an instruction's completion. VMEM (loads, stores and atomics alike, on
/// gfx9) and LDS complete in order, SMEM in any order. FLAT counts in vmcnt and lgkmcnt and
/// completes when either memory has finished, so while it is in flight only waiting for 0 of both
/// is conclusive.
namespace queue {
enum Kind : u8 { none, vector, local, scalar, flat, count };
constexpr u8 kind_mask = 0x07;
constexpr u8 writes_local = 0x80;  ///< a flag beside the kind
constexpr u8 wait = 0x40;          ///< s_waitcnt itself
}  // namespace queue

/// Returns a register's bit in HazardClass::registers.
constexpr u64 register_mark(unsigned index) {
  return u64{1} << index % 64;
}

/// Fills `instruction.hazards`; once for each decoded instruction (hazard_classes.cpp).
void classify_hazards(Instruction& instruction, const std::string& arch);

/// The operations that one wave has in flight, and the last instructions that it executed.
class HazardCheck {
 public:
  /// Throws Fault (missing_wait, missing_nop) if `instruction` must not be executed now; otherwise
  /// records what it starts. Call it once before each instruction executes.
  void before(const Wave&, const Instruction& instruction) {
    const HazardClass& hazards = instruction.hazards;
    if (hazards.registers & pending_marks_) check_registers(instruction);
    if (hazards.queue != queue::none) count(instruction);
    if (const u64 rules = near_ & hazards.second) check_rules(instruction, rules);
    now_ += hazards.states;
    if (hazards.first) note(instruction);
  }
  /// Returns whether writes to LDS are in flight that a barrier would not order.
  bool local_writes_pending() const;

 private:
  // ---- Operations in flight ----

  /// Operations that complete in the order in which they were issued, counted from 1.
  struct Queue {
    u64 issued = 0, done = 0;
    u64 last_local_write = 0;  ///< number of the latest one that writes LDS
    /// Marks all but the latest `left` operations as complete.
    void complete_all_but(u64 left) {
      if (issued > left && issued - left > done) done = issued - left;
    }
  };
  struct Target {
    u64 number = 0;  ///< number in its queue
    u8 queue = 0;
    const Instruction* load = nullptr;
  };

  void count(const Instruction& instruction);
  void wait(const Instruction& instruction);
  void check_registers(const Instruction& instruction) const;
  bool under_way(const Target& target) const;

  std::array<Queue, queue::count> queues_;
  std::array<Target, first_scalar + scalar::count> targets_;
  /// Registers that operations in flight may still write, without duplicates; and their marks.
  std::vector<u16> pending_;
  u64 pending_marks_ = 0;
  /// Number of FLAT operations whose share of vmcnt or lgkmcnt has been waited for.
  u64 flat_vector_done_ = 0, flat_scalar_done_ = 0;

  // ---- Recently executed instructions ----

  struct Executed {
    const Instruction* instruction;
    u64 first;  ///< rules that it can break as the earlier instruction
    u64 end;    ///< number of wait states when it ended
  };
  void check_rules(const Instruction& instruction, u64 rules);
  void note(const Instruction& instruction) {
    ring_[noted_++ % ring_.size()] = {&instruction, instruction.hazards.first, now_};
    near_ |= instruction.hazards.first;
  }

  u64 now_ = 0;   ///< wait states so far
  u64 near_ = 0;  ///< rules whose earlier instruction may have been executed recently
  std::array<Executed, 32> ring_;  ///< covers more than any rule's wait states
  u64 noted_ = 0;
};

}  // namespace mi300x
