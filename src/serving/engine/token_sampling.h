// Draws the next token from logits, on the host.
#pragma once

#include <cstdint>
#include <span>

#include "serving/server/generation_request.h"

namespace assay::engine {

/// Token `number` of a reply: one of the most likely tokens that together have the probability
/// `top_p`, at the given temperature. Depends on the logits, the seed, which must be there, and the
/// number alone.
std::uint32_t draw_token(std::span<const float> logits, const server::Sampling& sampling,
                         std::uint64_t number);

}  // namespace assay::engine
