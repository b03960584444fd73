// The axis `attention` of benchmarks: the ways to compute it, by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/grid/axis.h"
#include "model/gpt_layout.h"

namespace assay {

inline Axis attention_axis() {
  std::vector<std::string> ways = {"auto"};
  for (const AttentionWay way : {AttentionWay::library, AttentionWay::library_unordered,
                                 AttentionWay::own, AttentionWay::plain}) {
    ways.emplace_back(name_of(way));
  }
  return {
      .name = "attention",
      .description =
          "library: the vendor's (cuDNN), bf16 or f16, always the same bits if it can; "
          "library-unordered: the same, but sums in any order (cuDNN; AITER, bf16); own: assay's "
          "kernels on matrix units, bf16 or f16; plain: matrix products with all "
          "probabilities in memory; auto: the first of library, own and plain that "
          "can; with AITER library-unordered",
      .defaults = {"auto"},
      .choices = ways};
}

/// How the vendor's library for such a device computes: with always the same bits, if it can.
inline AttentionWay best_library_way(const DeviceFacts& facts) {
  return fused_attention_gives_same_bits(facts) ? AttentionWay::library
                                                : AttentionWay::library_unordered;
}

/// `name`: a value of that axis but "auto".
inline AttentionWay parse_attention_way(std::string_view name) {
  for (const AttentionWay way :
       {AttentionWay::own, AttentionWay::library, AttentionWay::library_unordered}) {
    if (name == name_of(way)) return way;
  }
  return AttentionWay::plain;
}

}  // namespace assay
