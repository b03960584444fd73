#include "model/tokenizer/tokenizer.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#include <numeric>

#include "core/utf8.h"

namespace assay {
namespace {

/// Valid UTF-8 in Unicode's normal form C.
std::string composed(std::string_view text) {
  utf8proc_uint8_t* made = nullptr;
  const auto length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &made,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(made, &std::free);
  if (length < 0) return std::string(text);
  return {reinterpret_cast<const char*>(made), static_cast<std::size_t>(length)};
}

/// Calls `body` with the pieces of `text` that `split` matches, and those between them.
template <typename Body>
void for_each_piece(std::string_view text, const Pattern& split, const Body& body) {
  std::size_t done = 0;
  for (std::size_t from = 0; from < text.size();) {
    const auto match = split.next(text, from);
    if (!match) break;
    if (match->end == match->begin) {  // nothing: it may match further on
      if (match->begin >= text.size()) break;
      from = match->begin + first_character(text.substr(match->begin)).bytes;
      continue;
    }
    if (match->begin > done) body(text.substr(done, match->begin - done));
    body(text.substr(match->begin, match->end - match->begin));
    done = from = match->end;
  }
  if (done < text.size()) body(text.substr(done));
}

}  // namespace

Tokenizer Tokenizer::bytes() {
  std::vector<std::int32_t> tokens(256);
  std::iota(tokens.begin(), tokens.end(), 0);
  Tokenizer made{BytePairs(tokens)};
  for (const std::int32_t token : tokens) {
    made.bytes_of_.emplace_back(1, static_cast<char>(token));
    made.tokens_of_[made.bytes_of_.back()] = token;
  }
  made.special_.resize(tokens.size());
  made.keep_bytes_ = true;
  return made;
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens;
  const std::string valid = keep_bytes_ ? std::string() : valid_utf8(text);
  if (!keep_bytes_) text = valid;
  if (!added_pattern_) {
    encode_plain(text, tokens);
    return tokens;
  }
  for_each_piece(text, *added_pattern_, [&](std::string_view piece) {
    const auto added = added_.find(piece);
    if (added != added_.end()) {
      tokens.push_back(added->second);
    } else {
      encode_plain(piece, tokens);
    }
  });
  return tokens;
}

void Tokenizer::encode_plain(std::string_view text, std::vector<std::int32_t>& to) const {
  const std::string normal = compose_ ? composed(text) : std::string();
  if (compose_) text = normal;
  std::vector<std::string_view> pieces = {text}, parts;
  for (const Pattern& split : splits_) {
    parts.clear();
    for (const std::string_view piece : pieces) {
      for_each_piece(piece, split, [&](std::string_view part) { parts.push_back(part); });
    }
    pieces.swap(parts);
  }
  for (const std::string_view piece : pieces) encode_piece(piece, to);
}

void Tokenizer::encode_piece(std::string_view piece, std::vector<std::int32_t>& to) const {
  if (whole_pieces_first_) {
    const auto whole = tokens_of_.find(std::string(piece));
    if (whole != tokens_of_.end()) {
      to.push_back(whole->second);
      return;
    }
  }
  pairs_.encode(piece, to);
}

bool Tokenizer::is_special(std::int32_t token) const {
  return token >= 0 && token < vocabulary() && special_[static_cast<std::size_t>(token)];
}

std::string_view Tokenizer::text_bytes(std::int32_t token) const {
  if (token < 0 || token >= vocabulary() || is_special(token)) return {};
  return bytes_of_[static_cast<std::size_t>(token)];
}

std::optional<std::int32_t> Tokenizer::find(std::string_view written) const {
  if (const auto added = added_.find(written); added != added_.end()) return added->second;
  const auto found = tokens_of_.find(std::string(written));
  if (found == tokens_of_.end()) return std::nullopt;
  return found->second;
}

std::string Tokenizer::decode(std::span<const std::int32_t> tokens) const {
  std::string bytes;
  for (const std::int32_t token : tokens) bytes += text_bytes(token);
  return valid_utf8(bytes);
}

std::string StreamingDecoder::add(std::int32_t token) {
  waiting_ += tokenizer_->text_bytes(token);
  const std::size_t kept = cut_bytes(waiting_);
  const std::string_view ready = std::string_view(waiting_).substr(0, waiting_.size() - kept);
  std::string text = valid_utf8(ready);
  waiting_.erase(0, ready.size());
  return text;
}

std::string StreamingDecoder::finish() {
  return valid_utf8(std::exchange(waiting_, {}));
}

}  // namespace assay
