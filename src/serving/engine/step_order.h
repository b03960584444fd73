// What rank 0 of a server sends to the ranks that share its model: the next pass, or that there is
// none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/decoder/decoder.h"

namespace assay::engine {

struct StepOrder {
  enum class Kind : std::uint8_t {
    idle,  ///< none; rank 0 is still there
    pass,  ///< compute one
    end,   ///< no more comes
  };

  Kind kind = Kind::idle;
  DecoderTokens rows;  ///< the tokens of the pass and their places
  DecoderPass pass;    ///< its sizes
  bool graph = false;  ///< whether it is replayed from a graph
  /// What changes before it in the table of blocks: elements of the table, and their new blocks.
  std::vector<std::int32_t> places, blocks;
};

std::string to_text(const StepOrder& order);
/// Error: failed, if the text is none of to_text(), or its parts do not fit together.
Result<StepOrder> order_from_text(std::string_view text);

}  // namespace assay::engine
