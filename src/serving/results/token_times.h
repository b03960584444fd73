// Judges whether the times between a reply's tokens are those of the server that computed them, and
// whether the text that came can hold as many tokens as the server counts.
#pragma once

#include <string>
#include <vector>

#include "serving/results/request_log.h"

namespace assay {

enum class TokenTimes {
  hold,        ///< they are the server's
  miscounted,  ///< more tokens counted than the text and the events can hold
  hidden,      ///< tokens of reasoning are counted and not sent
  held_back,   ///< tokens came in few bursts, as from a proxy that collects a stream
};

TokenTimes token_times_of(const RequestLog& log);

/// The reasons why values are void, one line each; empty if they are valid.
struct TokenDoubts {
  std::string counts;  ///< why throughput in tokens, TPOT and ITL are void
  std::string gaps;    ///< why TPOT and ITL are void
};

/// Judges the `replies`, which all succeeded. Up to a tenth of them may be doubtful, because a
/// client that was delayed also finds events together.
TokenDoubts token_doubts(const std::vector<const RequestLog*>& replies);

}  // namespace assay
