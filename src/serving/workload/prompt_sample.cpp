#include "serving/workload/prompt_sample.h"

#include <fmt/format.h>

#include "serving/workload/token_stream.h"

namespace assay {
namespace {

constexpr std::size_t most_text_bytes = std::size_t{1} << 30;

class PromptSample final : public Prompts {
 public:
  PromptSample(std::vector<Prompt> drawn, const PromptSettings& settings)
      : drawn_(std::move(drawn)), count_(settings.count), seed_(settings.seed) {}

  std::size_t size() const override { return count_; }

  Prompt at(std::size_t index) const override {
    Random random = stream_of(seed_, RandomStream::choice, index);
    Prompt prompt = drawn_[index < drawn_.size() ? index : random_index(drawn_.size(), random)];
    prompt.conversation = index;
    return prompt;
  }

 private:
  std::vector<Prompt> drawn_;
  std::size_t count_;
  std::uint64_t seed_;
};

}  // namespace

Result<std::unique_ptr<Prompts>> sample_prompts(const PromptSettings& settings,
                                                const ReadPrompt& read) {
  JsonObjects objects = TRY(JsonObjects::open(settings.file));
  Random random = stream_of(settings.seed, RandomStream::order, 0);
  std::vector<Prompt> drawn;
  std::size_t seen = 0, eligible = 0, bytes = 0;
  while (auto object = TRY(objects.next())) {
    ++seen;
    auto read_one = read(*object);
    if (!read_one.ok()) return objects.wrong(read_one.error().message);
    if (!read_one->has_value()) continue;
    Prompt& prompt = **read_one;
    ++eligible;
    bytes += prompt.text.size();
    if (drawn.size() < settings.count) {
      // Its position is random too, so that the file's order does not matter.
      drawn.push_back(std::move(prompt));
      std::swap(drawn.back(), drawn[random_index(drawn.size(), random)]);
    } else if (const std::size_t place = random_index(eligible, random); place < drawn.size()) {
      bytes -= drawn[place].text.size();
      drawn[place] = std::move(prompt);
    } else {
      bytes -= prompt.text.size();
    }
    if (bytes > most_text_bytes) return objects.wrong("the prompts so far have more than 1 GiB");
  }
  if (drawn.empty()) {
    return Error{ErrorKind::usage,
                 fmt::format("{}: none of its {} entries is a usable prompt", settings.file, seen)};
  }
  return std::unique_ptr<Prompts>(std::make_unique<PromptSample>(std::move(drawn), settings));
}

}  // namespace assay
