// Chooses the sizes of passes that a server computes. They are few, because each has its own plans
// of matrix products and its own graph.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::engine {

/// The smallest allowed size that is at least `count` >= 1: powers of two up to 16, then four sizes
/// between each power and the next, so that at most a quarter of a pass is padding.
std::int64_t pass_size(std::int64_t count);
/// All of them up to pass_size(most).
std::vector<std::int64_t> pass_sizes(std::int64_t most);

}  // namespace assay::engine
