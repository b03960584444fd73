// The axis `attention` of benchmarks: the ways to compute it, by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/gpt_layout.h"

namespace assay {

/// "auto" and every way.
inline std::vector<std::string> attention_ways() {
  std::vector<std::string> names = {"auto"};
  for (const AttentionWay way : {AttentionWay::library, AttentionWay::library_unordered,
                                 AttentionWay::own, AttentionWay::plain}) {
    names.emplace_back(name_of(way));
  }
  return names;
}

/// `name`: one of them but "auto".
inline AttentionWay parse_attention_way(std::string_view name) {
  for (const AttentionWay way :
       {AttentionWay::own, AttentionWay::library, AttentionWay::library_unordered}) {
    if (name == name_of(way)) return way;
  }
  return AttentionWay::plain;
}

}  // namespace assay
