// What makes a token less likely that a text has already, as in model/operations/token_sampling.h.
#pragma once

#include "dialect.h"

namespace {

struct TokenPenalty {
  i32 row, token;
  float divisor, amount, logit;  ///< logit: what it was before
};

}  // namespace
