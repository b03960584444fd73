// The reasons that stop an emulated kernel: an unknown instruction, or a violated rule of the chip.
#pragma once

#include <stdexcept>
#include <string>

namespace mi300x {

enum class FaultKind {
  unknown_instruction,  ///< the emulator does not know it: an error of the emulator, never skipped
  illegal_address,      ///< outside an allocation, freed, misaligned
  uninitialised,        ///< memory read before anything wrote it
  race,                 ///< two waves touched one byte of LDS without a barrier between them
  missing_wait,         ///< a register used before the s_waitcnt that covers its load
  missing_nop,          ///< fewer wait states between two instructions than the chip needs
  hang,                 ///< more instructions than the launch may take, or a barrier nobody reaches
  trap,                 ///< s_trap: the kernel itself gave up
  invalid_launch,       ///< a launch the code object does not allow
};

/// Thrown where a rule is violated, with the bare reason as `what()`. The executing wave adds
/// kernel, workgroup, instruction and source line (workgroup.cpp) before a launcher sees it.
class Fault : public std::runtime_error {
 public:
  Fault(FaultKind the_kind, const std::string& reason)
      : std::runtime_error(reason), kind(the_kind) {}
  FaultKind kind;
};

}  // namespace mi300x
