#include "core/token_shapes.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace assay {
namespace {

struct Shape {
  std::string_view begin;
  std::string_view more;   ///< what its rest holds beside letters and digits
  std::size_t least = 16;  ///< length of the rest
};

/// The tokens of Hugging Face, GitHub, GitLab, AWS, Google, Slack, OpenAI and those that copied it,
/// NVIDIA, npm, PyPI and Docker.
constexpr std::array<Shape, 22> shapes = {
    {{"hf_", ""},        {"ghp_", ""},         {"gho_", ""},     {"ghu_", ""},     {"ghs_", ""},
     {"ghr_", ""},       {"github_pat_", "_"}, {"glpat-", "-_"}, {"AKIA", ""},     {"ASIA", ""},
     {"AIza", "-_", 30}, {"xoxa-", "-"},       {"xoxb-", "-"},   {"xoxe-", "-"},   {"xoxp-", "-"},
     {"xoxr-", "-"},     {"xoxs-", "-"},       {"sk-", "-_"},    {"nvapi-", "-_"}, {"npm_", ""},
     {"pypi-", "-_"},    {"dckr_pat_", "-_"}}};

/// What a web hook's address has behind these is its key.
constexpr std::array<std::string_view, 2> hooks = {"hooks.slack.com/services/", "/api/webhooks/"};

bool is_letter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0;
}

/// Keys are random: they hold a digit, or capitals among small letters, in one long part; names
/// are short words.
bool is_random(std::string_view text) {
  constexpr std::size_t least_part = 12;
  std::size_t longest = 0, part = 0;
  bool digit = false, capital = false, small = false;
  for (const char letter : text) {
    part = is_letter(letter) ? part + 1 : 0;
    longest = std::max(longest, part);
    digit = digit || std::isdigit(static_cast<unsigned char>(letter)) != 0;
    capital = capital || std::isupper(static_cast<unsigned char>(letter)) != 0;
    small = small || std::islower(static_cast<unsigned char>(letter)) != 0;
  }
  return (digit || (capital && small)) && (longest >= least_part || (digit && capital && small));
}

/// The length of the token that `text` begins with; 0: it begins with none.
std::size_t token_length(std::string_view text) {
  for (const Shape& shape : shapes) {
    if (!text.starts_with(shape.begin)) continue;
    std::size_t end = shape.begin.size();
    while (end < text.size() &&
           (is_letter(text[end]) || shape.more.find(text[end]) != std::string_view::npos)) {
      ++end;
    }
    const std::string_view rest = text.substr(shape.begin.size(), end - shape.begin.size());
    if (rest.size() >= shape.least && is_random(rest)) return end;
  }
  return 0;
}

}  // namespace

std::string without_known_tokens(std::string_view text, std::string_view instead) {
  std::string kept;
  kept.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = at == 0 || (!is_letter(text[at - 1]) && text[at - 1] != '_');
    if (const std::size_t length = begins ? token_length(text.substr(at)) : 0; length > 0) {
      kept += instead;
      at += length;
      continue;
    }
    kept += text[at++];
    for (const std::string_view hook : hooks) {
      if (!kept.ends_with(hook)) continue;
      const std::size_t end = std::min(text.find_first_of(" \t\r\n\"'<>", at), text.size());
      if (end > at) kept += instead;
      at = end;
    }
  }
  return kept;
}

}  // namespace assay
