#include "ranks/environments/shell_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace assay {

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_word(std::string_view word) {
  if (word.starts_with("~/")) return "\"$HOME\"/" + shell_word(word.substr(2));
  const auto is_plain = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  // Outside an option, '=' would be an assignment or, in zsh, a path.
  const bool option = word.starts_with('-');
  if (!word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
        return is_plain(static_cast<unsigned char>(c)) || (option && c == '=');
      })) {
    return std::string(word);
  }
  return shell_quoted(word);
}

std::string shell_words(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

Result<std::vector<std::string>> split_shell_words(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;  // the open quote
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_blank = c == ' ' || c == '\t' || c == '\n';
    if (quote == 0 && is_blank) {
      in_word = false;
      continue;
    }
    if (!std::exchange(in_word, true)) words.emplace_back();
    // Within double quotes a backslash is literal unless it precedes a special character.
    const bool protects =
        c == '\\' && i + 1 < text.size() && quote != '\'' &&
        (quote == 0 || std::string_view("\"\\$`").find(text[i + 1]) != std::string_view::npos);
    if (protects) {
      words.back() += text[++i];
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) {
    return Error{ErrorKind::usage, fmt::format("a {} is never closed in: {}", quote, text)};
  }
  return words;
}

}  // namespace assay
