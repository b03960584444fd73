// Keys and tokens that are recognized by their own form, whatever stands before them.
#pragma once

#include <string>
#include <string_view>

namespace assay {

/// Returns `text` with `instead` for each token in the form of a known service, and for the path of
/// a web hook. Such a token is a prefix ("hf_", "ghp_", "AKIA", "xoxb-", "sk-" and others, listed
/// in token_shapes.cpp) and at least 16 characters that look random. A name that only begins alike,
/// "hf_transfer" or "sk-learn", stays.
std::string without_known_tokens(std::string_view text, std::string_view instead);

}  // namespace assay
