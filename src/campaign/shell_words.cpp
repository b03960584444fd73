#include "campaign/shell_words.h"

#include <algorithm>

namespace assay {

std::string shell_word(std::string_view word) {
  if (word.starts_with("~/")) return "\"$HOME\"/" + shell_word(word.substr(2));
  const auto is_plain = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  // Elsewhere than in an option, '=' would be an assignment or, in zsh, a path.
  const bool option = word.starts_with('-');
  if (!word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
        return is_plain(static_cast<unsigned char>(c)) || (option && c == '=');
      })) {
    return std::string(word);
  }
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_words(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

}  // namespace assay
