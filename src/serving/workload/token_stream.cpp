#include "serving/workload/token_stream.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace assay {
namespace {

constexpr std::array<std::string_view, 64> words = {
    "time",     "year",    "people",   "way",    "day",        "man",    "thing",   "woman",
    "life",     "child",   "world",    "school", "state",      "family", "student", "group",
    "country",  "problem", "hand",     "part",   "place",      "case",   "week",    "company",
    "system",   "program", "question", "work",   "government", "number", "night",   "point",
    "home",     "water",   "room",     "mother", "area",       "money",  "story",   "fact",
    "month",    "lot",     "right",    "study",  "book",       "eye",    "job",     "word",
    "business", "issue",   "side",     "kind",   "head",       "house",  "service", "friend",
    "father",   "power",   "hour",     "game",   "line",       "end",    "member",  "law"};

}  // namespace

Random stream_of(std::uint64_t seed, RandomStream purpose, std::uint64_t index) {
  // Each step mixes all bits of the previous one.
  Random by_seed(seed);
  Random by_purpose(by_seed.next() ^ static_cast<std::uint64_t>(purpose));
  Random by_index(by_purpose.next() ^ index);
  return Random(by_index.next());
}

TokenRange token_range(std::uint32_t vocabulary) {
  if (vocabulary == 0) return {};
  const std::uint32_t tenth = vocabulary / 10;
  return {tenth, vocabulary - tenth};
}

std::uint64_t random_index(std::uint64_t count, Random& random) {
  return static_cast<std::uint64_t>(random.uniform() * static_cast<double>(count));
}

void append_ids(std::vector<std::uint32_t>& ids, std::uint64_t count, TokenRange range,
                Random& random) {
  ids.reserve(ids.size() + count);
  for (std::uint64_t i = 0; i < count; ++i) {
    ids.push_back(range.first +
                  static_cast<std::uint32_t>(random_index(range.end - range.first, random)));
  }
}

std::string random_words(std::uint64_t count, Random& random) {
  std::string text;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    text += words[random_index(words.size(), random)];
  }
  return text;
}

std::uint64_t random_length(std::uint64_t mean, double spread, Random& random) {
  const double center = static_cast<double>(mean);
  const auto least = static_cast<std::uint64_t>(std::floor(center * (1 - spread)));
  const std::uint64_t low = std::max<std::uint64_t>(1, least);
  const auto high = static_cast<std::uint64_t>(std::ceil(center * (1 + spread)));
  return low + random_index(high - low + 1, random);
}

}  // namespace assay
