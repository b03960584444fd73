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
  random,             ///< ids of exact length
  prefix_repetition,  ///< ids: few prefixes, each with many suffixes
  multi_turn,         ///< conversations of several turns, as text
  sharegpt,           ///< a file of recorded conversations, of which the first turn is asked
  jsonl,              ///< a file of prompts, one object to a line
  trace,              ///< a file of recorded times, lengths and shared blocks
};

struct PromptSettings {
  Dataset dataset = Dataset::random;
  std::size_t count = 1000;  ///< requests; fewer where the data hold fewer or whole groups only
  std::uint64_t seed = 0;
  std::string file;  ///< of sharegpt, jsonl, trace

  std::uint64_t input_tokens = 1024;  ///< of random and of every turn
  /// Empty: 128 where nothing is recorded; of a file what it says.
  std::optional<std::uint64_t> output_tokens;
  double input_spread = 0, output_spread = 0;  ///< of random, as random_length() takes it
  std::uint64_t prefix_tokens = 0;             ///< of random: shared by all, before the input
  std::uint32_t vocabulary = 0;                ///< ids of the model; 0: not known
  /// Random as text of so many words per token, for servers that take no ids; 0: as ids.
  double words_per_token = 0;

  std::size_t prefixes =
      10;  ///< of prefix_repetition, each of `prefix_tokens`, or 256 if that is 0

  std::size_t turns = 4;     ///< of multi_turn
  double think_seconds = 1;  ///< of multi_turn, before every turn but the first

  std::uint64_t block_tokens = 512;  ///< of trace: tokens that one hash stands for
  double trace_unit = 1e-3;          ///< of trace: seconds of one unit of its timestamps
};

/// "random", "prefix_repetition", ...
std::string_view name_of(Dataset dataset);

/// The prompts of these settings; files are read once, here. Error: usage, if a setting is out of
/// bounds, or naming the file and line of what is wrong with it.
Result<std::unique_ptr<Prompts>> make_prompts(const PromptSettings& settings);

}  // namespace assay
