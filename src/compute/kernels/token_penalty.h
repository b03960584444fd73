// Makes a token less likely that a text contains already (model/operations/token_sampling.h).
#pragma once

#include "dialect.h"

namespace {

/// The token's logit x in `row` becomes x / divisor - amount if x > 0, else x * divisor - amount.
struct TokenPenalty {
  i32 row, token;
  float divisor, amount;
  float logit;  ///< the kernel stores here what x was before
};

}  // namespace
