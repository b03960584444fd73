// Chooses the fastest of several named variants of the same work and remembers the choice.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compute/autotune/choice_cache.h"
#include "compute/autotune/contest.h"
#include "core/result.h"

namespace assay {

struct NamedWay {
  std::string name;                 ///< one line, under which the choice is remembered
  std::function<Status()> prepare;  ///< prepares what the work needs, such as kernels
  Contender work;
};

/// Returns the index of the variant remembered for `key`. If there is none among `ways` or it
/// cannot be prepared, measures all variants and remembers the fastest. The returned variant has
/// been prepared; others may have been too. A variant whose prepare() fails is left out: a compiler
/// may run out of registers for it. Error: as find_fastest(), or as the last prepare() if all fail;
/// failed if `ways` is empty.
Result<std::size_t> choose_variant(Device& device, Stream& stream, const ChoiceCache& choices,
                                   const ChoiceKey& key, const std::vector<NamedWay>& ways,
                                   const ContestLimits& limits);

}  // namespace assay
