// Hashing for closed-form data: every element's value follows from its index and is the same on
// every device.
#pragma once

#include "dialect.h"

namespace {

DEVICE u64 mix(u64 x) {  // the finalizer of SplitMix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

/// The hash of number `i` under a seed: SplitMix64's i-th output, counted from 0.
DEVICE u64 hash_at(u64 i, u64 seed) {
  return mix(seed + (i + 1) * 0x9E3779B97F4A7C15ull);
}

}  // namespace
