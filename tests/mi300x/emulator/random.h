// The random generator for garbage and interleaving.
#pragma once

#include "emulator/instruction.h"

namespace mi300x {

/// splitmix64: returns the next number of the sequence with this state.
inline u64 next_random(u64& state) {
  u64 x = state += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// Derives a separate sequence for each pair of numbers.
inline u64 mix(u64 seed, u64 number) {
  u64 state = seed ^ (number * 0xD1342543DE82EF95);
  return next_random(state);
}

}  // namespace mi300x
