#include "model/data/synthetic_documents.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "core/random.h"
#include "model/data/token_batches.h"

namespace assay {
namespace {

/// A length as in yahma/alpaca-cleaned: its 51,760 documents have about 195 tokens each, which
/// follows from the steps that ROCm/MAD's fine-tuning benchmark does with them. Their distribution
/// is skewed; that it is log-normal with this deviation is an assumption.
std::size_t random_length(Random& random) {
  constexpr double mean = 195, deviation = 0.6, shortest = 16;
  const double logarithm = std::log(mean) - deviation * deviation / 2;
  return static_cast<std::size_t>(
      std::max(shortest, std::round(std::exp(logarithm + deviation * random.normal()))));
}

}  // namespace

PackedRows synthetic_documents(std::int32_t vocabulary, std::int64_t rows, std::int64_t length,
                               std::uint64_t seed, Packing packing) {
  const auto width = static_cast<std::size_t>(length), count = static_cast<std::size_t>(rows);
  const TokenStream text = synthetic_tokens(vocabulary, count * width, seed);
  Random random(seed ^ 0xD0C5);  // other numbers than those that made the tokens
  Documents documents;
  std::size_t used = 0;
  while (packing == Packing::none ? documents.count() < count : used < text.tokens.size()) {
    const std::size_t whole = std::min({random_length(random), width, text.tokens.size() - used});
    const double share_of_prompt = 0.2 + 0.3 * random.uniform();
    const auto prompt = static_cast<std::size_t>(share_of_prompt * static_cast<double>(whole));
    const std::span<const std::int32_t> document(text.tokens.data() + used, whole);
    documents.add(document.first(prompt), false);
    documents.add(document.subspan(prompt), true);
    documents.end_document();
    used += whole;
  }
  // Where whole documents do not fill the rows exactly, the few tokens that are left begin one
  // more.
  return pack_documents(documents, length, packing, seed, count).rows;
}

}  // namespace assay
