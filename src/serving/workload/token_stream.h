// Random tokens for prompts, the same on every machine for a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/random.h"

namespace assay {

/// Purposes of random numbers. Each has streams of its own, so that adding a prefix token does not
/// change all lengths.
enum class RandomStream : std::uint64_t { lengths = 1, body, prefix, block, order, choice };

/// The stream for a seed, purpose and index.
Random stream_of(std::uint64_t seed, RandomStream purpose, std::uint64_t index);

/// Token ids that every server takes as ordinary text: first <= id < end.
struct TokenRange {
  std::uint32_t first = 1000, end = 28000;  ///< above special ids, within the smallest vocabulary
};

/// The middle 80% of a vocabulary with that many ids, because special ids are at its ends; 0:
/// unknown.
TokenRange token_range(std::uint32_t vocabulary);

/// Appends `count` ids, each drawn independently. vLLM uses runs of consecutive ids, which coincide
/// too often: two prompts with the same first id are identical and hit the prefix cache.
void append_ids(std::vector<std::uint32_t>& ids, std::uint64_t count, TokenRange range,
                Random& random);

/// `count` English words separated by spaces; in most vocabularies each is one token.
std::string random_words(std::uint64_t count, Random& random);

/// From floor(mean (1 - spread)) to ceil(mean (1 + spread)), all equally likely, at least 1, like
/// vLLM's --random-range-ratio. 0 <= spread < 1.
std::uint64_t random_length(std::uint64_t mean, double spread, Random& random);

/// In [0, count); count > 0.
std::uint64_t random_index(std::uint64_t count, Random& random);

}  // namespace assay
