// A few prefixes, each sent with many suffixes, in random order: the best case for a prefix cache.
#include <algorithm>
#include <numeric>

#include "serving/workload/datasets.h"
#include "serving/workload/token_stream.h"

namespace assay {
namespace {

constexpr std::uint64_t default_prefix_tokens = 256;

class PrefixPrompts final : public Prompts {
 public:
  explicit PrefixPrompts(const PromptSettings& settings)
      : settings_(settings), range_(token_range(settings.vocabulary)) {
    // Every prefix equally often, as in vLLM: the remainder of the division is dropped.
    order_.resize(settings.count / settings.prefixes * settings.prefixes);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    Random random = stream_of(settings.seed, RandomStream::order, 0);
    for (std::size_t i = order_.size(); i > 1; --i) {
      std::swap(order_[i - 1], order_[random_index(i, random)]);
    }
    if (settings_.prefix_tokens == 0) settings_.prefix_tokens = default_prefix_tokens;
  }

  std::size_t size() const override { return order_.size(); }

  Prompt at(std::size_t index) const override {
    const std::size_t place = order_[index];
    Prompt prompt;
    prompt.conversation = index;
    prompt.tokens = settings_.prefix_tokens + settings_.input_tokens;
    prompt.output_tokens = settings_.output_tokens.value_or(default_output_tokens);
    Random prefix = stream_of(settings_.seed, RandomStream::prefix, place % settings_.prefixes);
    Random suffix = stream_of(settings_.seed, RandomStream::body, place);
    append_ids(prompt.ids, settings_.prefix_tokens, range_, prefix);
    append_ids(prompt.ids, settings_.input_tokens, range_, suffix);
    return prompt;
  }

 private:
  PromptSettings settings_;
  TokenRange range_;
  std::vector<std::size_t> order_;  // index of the prefix and suffix of each request
};

}  // namespace

std::unique_ptr<Prompts> prefix_prompts(const PromptSettings& settings) {
  return std::make_unique<PrefixPrompts>(settings);
}

}  // namespace assay
