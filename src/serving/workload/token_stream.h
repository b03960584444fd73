// Random tokens for prompts, the same on every machine for a seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/random.h"

namespace assay {

/// The purpose of random numbers. Each purpose has streams of its own, so that a longer prefix, for
/// example, leaves the lengths of all prompts as they are.
enum class RandomStream : std::uint64_t {
  lengths = 1,  ///< lengths of a prompt and of its reply
  body,         ///< the part of a prompt that no other prompt shares
  prefix,       ///< a prefix that several prompts share
  block,        ///< a block of a recorded trace, which several prompts share
  order,        ///< the order of prompts, and which ones of a file are drawn
  choice,       ///< which drawn prompt is repeated
};

/// Returns the stream for a seed, a purpose and an index. The index is the number of a request or
/// of a prefix, the hash of a block, or 0.
Random stream_of(std::uint64_t seed, RandomStream purpose, std::uint64_t index);

/// Token ids of which prompts are made: first <= id < end. The default is for an unknown
/// vocabulary. It begins above the special ids and fits vocabularies of 28,000 ids and more.
struct TokenRange {
  std::uint32_t first = 1000, end = 28000;
};

/// Returns the middle 80% of a vocabulary with that many ids, because special ids are at its ends.
/// 0 means that the vocabulary is unknown, and gives the default range.
TokenRange token_range(std::uint32_t vocabulary);

/// Appends `count` ids, each drawn independently. vLLM's benchmark sends runs of consecutive ids.
/// Two of its prompts with the same first id begin alike, so the second one hits the prefix cache.
void append_ids(std::vector<std::uint32_t>& ids, std::uint64_t count, TokenRange range,
                Random& random);

/// `count` English words separated by spaces; in most vocabularies each is one token.
std::string random_words(std::uint64_t count, Random& random);

/// Returns a length from floor(mean (1 - spread)), but at least 1, to ceil(mean (1 + spread)), all
/// equally likely, like vLLM's --random-range-ratio. 0 <= spread < 1.
std::uint64_t random_length(std::uint64_t mean, double spread, Random& random);

/// Returns a number in [0, count), all equally likely. `count` must be above 0.
std::uint64_t random_index(std::uint64_t count, Random& random);

}  // namespace assay
