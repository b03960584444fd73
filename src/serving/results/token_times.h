// Whether the times between a reply's tokens are those of the server that computed them, and
// whether the text that came can hold as many tokens as the server counts.
#pragma once

#include <string>
#include <vector>

#include "serving/results/request_log.h"

namespace assay {

enum class TokenTimes {
  hold,
  miscounted,  ///< more tokens counted than the text and the events can hold
  hidden,      ///< tokens of reasoning are counted and not sent
  held_back,   ///< most tokens came together, as from a proxy that collects a stream
};

TokenTimes token_times_of(const RequestLog& log);

/// Why values do not hold, each in one line; empty: they do.
struct TokenDoubts {
  std::string counts;  ///< of throughput in tokens, TPOT and ITL
  std::string gaps;    ///< of TPOT and ITL
};

/// A tenth of the replies may be doubtful: a client that had to wait finds events together, too.
TokenDoubts token_doubts(const std::vector<const RequestLog*>& replies);

}  // namespace assay
