// The axis `attention` of benchmarks: the names of the implementations of attention.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/grid/axis.h"
#include "model/training/training_plan.h"

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

/// The variant of the vendor's library to prefer on a device: the deterministic one if the library
/// has it.
inline AttentionWay best_library_way(const DeviceFacts& facts) {
  return fused_attention_gives_same_bits(facts) ? AttentionWay::library
                                                : AttentionWay::library_unordered;
}

/// Parses a value of the axis `attention`. A text that names no implementation, such as "auto",
/// gives `plain`.
inline AttentionWay parse_attention_way(std::string_view name) {
  for (const AttentionWay way :
       {AttentionWay::own, AttentionWay::library, AttentionWay::library_unordered}) {
    if (name == name_of(way)) return way;
  }
  return AttentionWay::plain;
}

}  // namespace assay
