// Instruction data: a file of a JSON object a line, as documents of tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/data/document_packing.h"

namespace assay {

struct InstructionSettings {
  std::filesystem::path file;
  /// Holds tokenizer.json and the chat template; empty: a token for each byte.
  std::filesystem::path model;
  std::string chat_template = {};    ///< a name that ChatTemplate knows; empty: that of the model
  bool loss_on_all = false;          ///< also on prompts, not on replies only
  std::int64_t vocabulary = 0;       ///< of the model, which must have all tokens of the tokenizer
  std::filesystem::path cache = {};  ///< folder that keeps the tokens; empty: they are not kept
  /// Bytes of all data's tokens in `cache`, of which the longest unused are removed. What takes
  /// more than half of this is not kept.
  std::uint64_t most_cached = std::uint64_t{8} << 30;
};

struct InstructionDocuments {
  Documents documents;
  std::int64_t damaged = 0;                ///< rows that could not be used
  std::vector<std::string> first_damaged;  ///< of at most ten: "line 3: it is not JSON"
  bool from_cache = false;
};

/// The folder that keeps the tokens of the user's instruction data; empty if there is none.
std::filesystem::path instruction_cache_folder();

/// Reads a document from each line that is not blank. A line is an object with `messages` (a list
/// of objects with `role` and `content`), with `instruction`, perhaps `input`, and `output`, or
/// with `text`, all of which has a loss. Messages and instructions are written by the chat
/// template. Rows that cannot be used are counted, and the first ten are named.
///
/// The tokens are kept in `cache` under a hash of the data, the tokenizer and the settings.
/// Error: as unreadable(); usage, naming the file: no row can be used, the tokenizer has tokens
/// that the model lacks, or the template is missing, not known, or needs other special tokens.
Result<InstructionDocuments> read_instructions(const InstructionSettings& settings);

}  // namespace assay
