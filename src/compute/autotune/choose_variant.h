// A choice among named ways to do the same work, which is remembered.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compute/autotune/choice_cache.h"
#include "compute/autotune/contest.h"
#include "core/result.h"

namespace assay {

struct NamedWay {
  std::string name;                 ///< by which it is remembered, one line
  std::function<Status()> prepare;  ///< what the work needs, such as kernels
  Contender work;
};

/// The index of the way that is remembered for `key` or, if none is, of the fastest, which then is.
/// It is prepared, and so may others be. A way that cannot be prepared takes no part: a compiler
/// may have no registers for it. Error: of find_fastest(), or of preparing the last way, if none
/// can be.
Result<std::size_t> choose_variant(Device& device, Stream& stream, const ChoiceCache& choices,
                                   const ChoiceKey& key, const std::vector<NamedWay>& ways,
                                   const ContestLimits& limits);

}  // namespace assay
