#include "serving/server/reply_logprobs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/fmt_compiled.h"
#include "core/utf8.h"
#include "serving/server/escaped_text.h"

namespace assay::server {
namespace {

constexpr const char* before_bytes = "bytes:";  // of tokens that are no UTF-8, in completions

/// The token as text between the quotes in JSON.
std::string shown(const TokenLogprob& token, std::string_view before_codes) {
  std::string text;
  if (valid_utf8(token.bytes) == token.bytes) {
    append_escaped(token.bytes, text);
    return text;
  }
  text = before_codes;
  for (const char byte : token.bytes) {
    fmt::format_to(std::back_inserter(text), "\\\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return text;
}

/// JSON has no infinity; -9999 is what vLLM says instead.
float finite(double logprob) {
  constexpr double least = -9999;
  return static_cast<float>(std::isfinite(logprob) ? std::max(logprob, least) : least);
}

/// Appends `one` of each token, separated by commas, in brackets.
template <typename Append>
void append_list(std::span<const ChosenLogprobs> tokens, std::string& out, Append one) {
  out += '[';
  for (const ChosenLogprobs& token : tokens) {
    if (&token != tokens.data()) out += ',';
    one(token);
  }
  out += ']';
}

/// The chosen token and the likeliest ones, as members of an object: none twice.
void append_members(const ChosenLogprobs& token, std::string& out) {
  std::vector<std::string> names;
  const auto append = [&](const TokenLogprob& one) {
    std::string name = shown(one, before_bytes);
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    fmt::format_to(std::back_inserter(out), "{}\"{}\":{}", names.empty() ? "" : ",", name,
                   finite(one.logprob));
    names.push_back(std::move(name));
  };
  append(token.chosen);
  for (const TokenLogprob& one : token.likeliest) append(one);
}

/// An object of a chat that is not closed yet.
void append_chat_token(const TokenLogprob& token, std::string& out) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(token.bytes.data());
  fmt::format_to(std::back_inserter(out), "{{\"token\":\"{}\",\"logprob\":{},\"bytes\":[{}]",
                 shown(token, ""), finite(token.logprob),
                 fmt::join(bytes, bytes + token.bytes.size(), ","));
}

}  // namespace

std::uint64_t characters_of(const TokenLogprob& token) {
  return static_cast<std::uint64_t>(std::count_if(token.bytes.begin(), token.bytes.end(),
                                                  [](char byte) { return (byte & 0xC0) != 0x80; }));
}

void append_completion_logprobs(std::span<const ChosenLogprobs> tokens, std::uint64_t offset,
                                std::string& out) {
  out += "{\"text_offset\":";
  append_list(tokens, out, [&](const ChosenLogprobs& token) {
    out += fmt::format_int(offset).c_str();
    offset += characters_of(token.chosen);
  });
  out += ",\"token_logprobs\":";
  append_list(tokens, out, [&](const ChosenLogprobs& token) {
    fmt::format_to(std::back_inserter(out), "{}", finite(token.chosen.logprob));
  });
  out += ",\"tokens\":";
  append_list(tokens, out, [&](const ChosenLogprobs& token) {
    out += '"' + shown(token.chosen, before_bytes) + '"';
  });
  out += ",\"top_logprobs\":";
  append_list(tokens, out, [&](const ChosenLogprobs& token) {
    out += '{';
    append_members(token, out);
    out += '}';
  });
  out += '}';
}

void append_chat_logprobs(std::span<const ChosenLogprobs> tokens, std::string& out) {
  out += "{\"content\":";
  append_list(tokens, out, [&](const ChosenLogprobs& token) {
    append_chat_token(token.chosen, out);
    out += ",\"top_logprobs\":[";
    for (const TokenLogprob& one : token.likeliest) {
      if (&one != token.likeliest.data()) out += ',';
      append_chat_token(one, out);
      out += '}';
    }
    out += "]}";
  });
  out += '}';
}

}  // namespace assay::server
