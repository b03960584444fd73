// The axis `attention` of benchmarks: the ways to compute it, by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/benchmarks/axis.h"
#include "model/gpt_layout.h"

namespace assay {

inline Axis attention_axis() {
  std::vector<std::string> ways = {"auto"};
  for (const AttentionWay way : {AttentionWay::library, AttentionWay::library_unordered,
                                 AttentionWay::own, AttentionWay::plain}) {
    ways.emplace_back(name_of(way));
  }
  return {.name = "attention",
          .description =
              "library: the vendor's (cuDNN), bf16 or f16, always the same bits if it can; "
              "library-unordered: the same, but sums in any order; own: assay's "
              "kernels on matrix units, bf16 or f16; plain: matrix products with all "
              "probabilities in memory; auto: the first of library, own and plain that "
              "can",
          .defaults = {"auto"},
          .choices = ways};
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
