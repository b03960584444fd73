// The order of a row's tokens by their logits, as numbers that differ for each token.
#pragma once

#include "conversions.h"

namespace {

/// Encodes a logit and its token as one ordered number; among equal logits the lower token is the
/// larger number. A NaN is above infinity, or with a sign below -infinity. The number is 0 for no
/// token below 2^32 - 1.
DEVICE u64 candidate(float logit, u64 token) {
  const u32 bits = bits_of(logit), ordered = bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
  return u64{ordered} << 32 | (0xFFFFFFFFu - static_cast<u32>(token));
}
DEVICE i32 token_of(u64 candidate) {
  return static_cast<i32>(0xFFFFFFFFu - static_cast<u32>(candidate));
}
DEVICE float logit_of(u64 candidate) {
  const u32 ordered = static_cast<u32>(candidate >> 32);
  return float_of(ordered >> 31 != 0 ? ordered & 0x7FFFFFFFu : ~ordered);
}

}  // namespace
