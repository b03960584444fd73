// Lines and words of text that a program printed, read one at a time: a hostile file may hold
// nothing but line ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct TextLine {
  std::size_t number = 0;  ///< from 1
  std::string_view text;   ///< without its end
};

/// Goes through lines that end in LF or CRLF; a byte-order mark at the beginning is skipped.
class LineReader {
 public:
  explicit LineReader(std::string_view text);
  /// False at the end of the text.
  bool next(TextLine& line);

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

/// Without white space at both ends.
std::string_view trim(std::string_view text);
/// The parts between white space; at most `most` of them, so that a line of any length is cheap.
std::vector<std::string_view> split_words(std::string_view line, std::size_t most = 256);
/// The parts between separators, trimmed; an empty text is one empty part.
std::vector<std::string_view> split_at(std::string_view line, char separator);
bool contains(std::string_view text, std::string_view part);
/// ASCII letters in lower case.
std::string lower_case(std::string_view text);
/// Lower case letters, digits and single underscores: a metric's name out of a tool's own.
std::string identifier(std::string_view text);
/// The text after `label` and its colon or equals sign on this line, trimmed; empty if it is not
/// there. after_label("Version: 5.0", "Version") is "5.0".
std::string_view after_label(std::string_view line, std::string_view label);

}  // namespace assay
