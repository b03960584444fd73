// The reasons that stop an emulated kernel: an unknown instruction, or a violated rule of the chip.
#pragma once

#include <stdexcept>
#include <string>

namespace mi300x {

enum class FaultKind {
  unknown_instruction,  ///< missing in the emulator, which never skips an instruction
  illegal_address,      ///< outside an allocation, freed, misaligned
  uninitialised,        ///< memory read before anything wrote it
  race,                 ///< two waves touched one byte of LDS without a barrier between them
  missing_wait,         ///< a register used before the s_waitcnt that covers its load
  missing_nop,          ///< fewer wait states between two instructions than the chip needs
  hang,                 ///< too many instructions, or a barrier that nobody else reaches
  trap,                 ///< s_trap: the kernel itself stopped
  invalid_launch,       ///< the code object does not allow the launch
};

/// Thrown where a rule is violated, with only the reason as `what()`. The executing wave adds
/// kernel, workgroup, instruction and source line (workgroup.cpp) before a launcher sees it.
class Fault : public std::runtime_error {
 public:
  Fault(FaultKind the_kind, const std::string& reason)
      : std::runtime_error(reason), kind(the_kind) {}
  FaultKind kind;
};

}  // namespace mi300x
