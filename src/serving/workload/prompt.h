// What a server is asked, before any server's way of asking.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace assay {

/// One request of a conversation; most conversations have one.
struct Prompt {
  /// Of a random prompt: token ids, so that its length is exact without a tokenizer. Else empty.
  std::vector<std::uint32_t> ids;
  std::string text;                 ///< what is asked, if there are no ids
  std::uint64_t tokens = 0;         ///< its length, to be held against `usage`; 0: not known
  std::uint64_t output_tokens = 0;  ///< how long the reply shall be; 0: the server decides
  std::size_t conversation = 0;
  std::size_t turn = 0;      ///< of the conversation, from 0; later ones carry what came before
  double think_seconds = 0;  ///< before this turn, after the reply to the last one
};

/// Prompts of one seed: the same on every machine and for every environment compared.
class Prompts {
 public:
  virtual ~Prompts() = default;
  virtual std::size_t size() const = 0;
  /// Of request `index` < size(); always the same. Turns of a conversation are neighbours, in
  /// order.
  virtual Prompt at(std::size_t index) const = 0;
  /// Whether request `index` is a later turn of the conversation that `index` - 1 belongs to.
  virtual bool follows(std::size_t /*index*/) const { return false; }
  /// Seconds after the beginning at which request `index` was sent when it was recorded; negative:
  /// the data do not say.
  virtual double recorded_seconds(std::size_t /*index*/) const { return -1; }
};

}  // namespace assay
