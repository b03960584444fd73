// Reads lines and words of a program's output one at a time, because a hostile file may consist of
// line ends only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct TextLine {
  std::size_t number = 0;  ///< from 1
  std::string_view text;   ///< without the line end
};

/// Iterates over lines that end in LF or CRLF; skips a byte-order mark at the start. The text must
/// outlive it.
class LineReader {
 public:
  explicit LineReader(std::string_view text);
  /// Returns false at the end of the text.
  bool next(TextLine& line);

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

/// Returns the words between white space; at most `most` of them, so that long lines are cheap.
std::vector<std::string_view> split_words(std::string_view line, std::size_t most = 256);
/// Returns the parts between separators, trimmed; an empty text has one empty part.
std::vector<std::string_view> split_at(std::string_view line, char separator);
bool contains(std::string_view text, std::string_view part);
/// Returns the text with ASCII letters in lower case.
std::string lower_case(std::string_view text);
/// Makes a metric's name from a tool's name: lower case letters, digits and single underscores.
std::string identifier(std::string_view text);
/// Returns the text after `label` and its colon or equals sign in this line, trimmed; empty if not
/// found. after_label("Version: 5.0", "Version") is "5.0".
std::string_view after_label(std::string_view line, std::string_view label);

}  // namespace assay
