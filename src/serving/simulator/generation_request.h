// A client's request to any of the generation endpoints, parsed from untrusted JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace assay::simulator {

/// The servers whose request and reply formats are supported.
enum class Dialect { completions, chat, llama_cpp, tgi };

struct GenerationRequest {
  /// Token ids of each prompt; text is converted by append_tokens().
  std::vector<std::vector<std::uint32_t>> prompts;
  bool ids = false;  ///< the prompts came as token ids
  std::string model;
  bool stream = false;
  bool include_usage = false, continuous_usage = false;
  std::optional<std::uint64_t> max_tokens;
  std::uint64_t min_tokens = 0;
  bool ignore_eos = false;
  bool stamps = false;  ///< events must carry their send time
};

/// Error: usage, one line for the client: not JSON, a field of the wrong type, no prompt.
Result<GenerationRequest> parse_generation(std::string_view body, Dialect dialect);

/// Number of tokens of the field `prompt`. Error as above.
Result<std::uint64_t> count_tokens(std::string_view body);

}  // namespace assay::simulator
