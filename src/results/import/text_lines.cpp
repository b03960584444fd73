#include "results/import/text_lines.h"

#include <algorithm>

#include "core/text.h"

namespace assay {
namespace {

constexpr std::string_view white_space = " \t\r\v\f";

}  // namespace

LineReader::LineReader(std::string_view text) : rest_(text) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (rest_.starts_with(byte_order_mark)) rest_.remove_prefix(byte_order_mark.size());
}

bool LineReader::next(TextLine& line) {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find('\n');
  line.number = ++number_;
  line.text = rest_.substr(0, end);
  if (line.text.ends_with('\r')) line.text.remove_suffix(1);
  rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
  return true;
}

std::vector<std::string_view> split_words(std::string_view line, std::size_t most) {
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(white_space);
       at != std::string_view::npos && words.size() < most;) {
    const std::size_t end = std::min(line.find_first_of(white_space, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(white_space, end);
  }
  return words;
}

std::vector<std::string_view> split_at(std::string_view line, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(line.find(separator, at), line.size());
    parts.push_back(trim(line.substr(at, end - at)));
    if (end == line.size()) return parts;
    at = end + 1;
  }
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return lower;
}

std::string identifier(std::string_view text) {
  std::string name;
  for (const char letter : lower_case(text)) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    if (plain) {
      name += letter;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (name.ends_with('_')) name.pop_back();
  return name;
}

std::string_view after_label(std::string_view line, std::string_view label) {
  const std::size_t at = line.find(label);
  if (at == std::string_view::npos) return {};
  std::string_view rest = trim(line.substr(at + label.size()));
  if (rest.empty() || (rest.front() != ':' && rest.front() != '=')) return {};
  return trim(rest.substr(1));
}

}  // namespace assay
