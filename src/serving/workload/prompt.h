// Says what a server is asked, independent of any server's API.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace assay {

/// One request of a conversation; most conversations have one.
struct Prompt {
  /// Token ids of a random prompt, whose length is thus exact without a tokenizer; otherwise empty.
  std::vector<std::uint32_t> ids;
  std::string text;                 ///< the prompt, if there are no ids
  std::uint64_t tokens = 0;         ///< its length, to compare with `usage`; 0: unknown
  std::uint64_t output_tokens = 0;  ///< requested length of the reply; 0: the server decides
  std::size_t conversation = 0;     ///< its number, from 0
  std::size_t turn = 0;  ///< turn of the conversation, from 0; later turns carry the earlier ones
  double think_seconds = 0;  ///< before this turn, after the reply to the last one
};

/// The prompts of one seed: the same on every machine and in every compared environment.
class Prompts {
 public:
  virtual ~Prompts() = default;
  virtual std::size_t size() const = 0;
  /// The prompt of request `index` < size(), always the same. Turns of a conversation are adjacent
  /// and in order.
  virtual Prompt at(std::size_t index) const = 0;
  /// Returns whether request `index` continues the conversation of request `index` - 1.
  virtual bool follows(std::size_t /*index*/) const { return false; }
  /// When request `index` was sent in the recording, in seconds after its start; negative: unknown.
  virtual double recorded_seconds(std::size_t /*index*/) const { return -1; }
};

}  // namespace assay
