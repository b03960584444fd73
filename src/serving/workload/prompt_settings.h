// The settings from which the prompts of a load are made.
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
  random,             ///< token ids of exact length; words if the server takes no ids
  prefix_repetition,  ///< token ids: few prefixes, each with many suffixes
  multi_turn,         ///< conversations of several turns, as text
  sharegpt,           ///< a file of recorded conversations, of which the first turn is sent
  jsonl,              ///< a file of prompts, one object to a line
  trace,              ///< Mooncake's file of times, lengths and blocks that prompts share
};

struct PromptSettings {
  Dataset dataset = Dataset::random;
  /// Number of requests. A trace may have fewer. prefix_repetition rounds down to a multiple of
  /// `prefixes`. multi_turn sends only whole conversations, but at least one, so it may send more.
  /// sharegpt and jsonl repeat prompts if the file has fewer.
  std::size_t count = 1000;
  std::uint64_t seed = 0;
  std::string file;  ///< for sharegpt, jsonl, trace

  /// Length of the prompt of random after the prefix, and of the suffix of prefix_repetition. For
  /// multi_turn it is the number of words of every turn.
  std::uint64_t input_tokens = 1024;
  /// Length of every reply. If it is empty, a trace and jsonl have it in the file, sharegpt
  /// estimates it from the recorded reply, and all others use 128. If a line of jsonl has none, the
  /// server decides; a recorded 0 becomes 1.
  std::optional<std::uint64_t> output_tokens;
  double input_spread = 0, output_spread = 0;  ///< for random, see random_length()
  /// For random: tokens before the input, which all prompts share. For prefix_repetition: length of
  /// each prefix; 0 means 256.
  std::uint64_t prefix_tokens = 0;
  std::uint32_t vocabulary = 0;  ///< number of the model's token ids; 0: unknown
  /// For random: send text with this many words per token, for servers that take no ids; 0: send
  /// ids.
  double words_per_token = 0;

  std::size_t prefixes = 10;  ///< for prefix_repetition: number of different prefixes

  std::size_t turns = 4;     ///< turns of each conversation of multi_turn
  double think_seconds = 1;  ///< for multi_turn, before every turn but the first

  std::uint64_t block_tokens = 512;  ///< for trace: tokens that one hash stands for
  double trace_unit = 1e-3;          ///< for trace: seconds per unit of its timestamps
};

/// Returns the name: "random", "prefix_repetition", ...
std::string_view name_of(Dataset dataset);

/// Makes the prompts of these settings; a file is read once, here. Error: usage if a setting is out
/// of bounds, or if the file is wrong, naming the line; as unreadable() (core/input_file.h) if it
/// cannot be read.
Result<std::unique_ptr<Prompts>> make_prompts(const PromptSettings& settings);

}  // namespace assay
