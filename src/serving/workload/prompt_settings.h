// Which prompts are sent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "serving/workload/prompt.h"

namespace assay {

enum class Dataset {
  random,             ///< token ids of exact length
  prefix_repetition,  ///< token ids: few prefixes, each with many suffixes
  multi_turn,         ///< conversations of several turns, as text
  sharegpt,           ///< a file of recorded conversations, of which the first turn is sent
  jsonl,              ///< a file of prompts, one object to a line
  trace,              ///< a file of recorded times, lengths and shared blocks
};

struct PromptSettings {
  Dataset dataset = Dataset::random;
  /// Requests; fewer if the data hold fewer or only whole groups are sent.
  std::size_t count = 1000;
  std::uint64_t seed = 0;
  std::string file;  ///< for sharegpt, jsonl, trace

  std::uint64_t input_tokens = 1024;  ///< for random, and for every turn
  /// Empty: as recorded in the file, or 128 where nothing is recorded.
  std::optional<std::uint64_t> output_tokens;
  double input_spread = 0, output_spread = 0;  ///< for random, see random_length()
  std::uint64_t prefix_tokens = 0;  ///< for random: shared by all prompts, before the input
  std::uint32_t vocabulary = 0;     ///< number of the model's token ids; 0: unknown
  /// For random: send text with this many words per token, for servers that take no ids; 0: send
  /// ids.
  double words_per_token = 0;

  std::size_t prefixes =
      10;  ///< for prefix_repetition, each of `prefix_tokens`, or 256 if that is 0

  std::size_t turns = 4;     ///< turns of each conversation of multi_turn
  double think_seconds = 1;  ///< for multi_turn, before every turn but the first

  std::uint64_t block_tokens = 512;  ///< for trace: tokens that one hash stands for
  double trace_unit = 1e-3;          ///< for trace: seconds per unit of its timestamps
};

/// Returns the name: "random", "prefix_repetition", ...
std::string_view name_of(Dataset dataset);

/// The prompts of these settings; files are read once, here. Error: usage, if a setting is out of
/// bounds, or naming file and line of an error in the file.
Result<std::unique_ptr<Prompts>> make_prompts(const PromptSettings& settings);

}  // namespace assay
