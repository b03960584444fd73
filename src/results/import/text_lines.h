// Lines and words of a program's output, read one at a time: a hostile file may consist of line
// ends only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct TextLine {
  std::size_t number = 0;  ///< from 1
  std::string_view text;   ///< without the line end
};

/// Iterates over lines that end in LF or CRLF; skips a byte-order mark at the start.
class LineReader {
 public:
  explicit LineReader(std::string_view text);
  /// False at the end of the text.
  bool next(TextLine& line);

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

/// The words between white space; at most `most` of them, so that long lines are cheap.
std::vector<std::string_view> split_words(std::string_view line, std::size_t most = 256);
/// The parts between separators, trimmed; an empty text has one empty part.
std::vector<std::string_view> split_at(std::string_view line, char separator);
bool contains(std::string_view text, std::string_view part);
/// The text with ASCII letters in lower case.
std::string lower_case(std::string_view text);
/// A metric's name made from a tool's own: lower case letters, digits and single underscores.
std::string identifier(std::string_view text);
/// The text after `label` and its colon or equals sign in this line, trimmed; empty if not found.
/// after_label("Version: 5.0", "Version") is "5.0".
std::string_view after_label(std::string_view line, std::string_view label);

}  // namespace assay
