// JSON that other programs wrote: of any size, with several values in one file, numbers whose text
// is kept, and Python's Infinity and NaN. None of it is trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/input_file.h"
#include "core/result.h"

namespace assay {

struct JsonNode {
  enum class Kind { null, boolean, number, text, array, object };
  Kind kind = Kind::null;
  std::string text;  ///< text of a number as written ("NaN" too), of a string, or "true", "false"
  std::vector<JsonNode> items;    ///< items of an array or an object
  std::vector<std::string> keys;  ///< keys of an object, one per item

  bool is_object() const { return kind == Kind::object; }
  bool is_array() const { return kind == Kind::array; }
  /// Returns the member, the last of several with that key; null if it is absent or this is not an
  /// object.
  const JsonNode* find(std::string_view key) const;
  /// Returns the member's text, number or boolean; empty if it is absent, null, or a container.
  std::string_view at(std::string_view key) const;
  /// Returns the value of a number, or of a text that is a number, if it is finite; else nullopt.
  std::optional<double> number() const;
  /// Returns number() of the member.
  std::optional<double> number_at(std::string_view key) const;
};

struct JsonLimits {
  std::size_t
      values;  ///< most values of one read(), including nested ones; each takes 100 bytes of memory
  std::size_t bytes = SIZE_MAX;  ///< upper limit of the text of one read()
};

/// Reads value after value from a text or a file, holding only a buffer of it.
class JsonValues {
 public:
  /// `text` must outlive this object.
  explicit JsonValues(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}
  /// Opens a file or a pipe. Error: as unreadable().
  static Result<JsonValues> open(const std::string& path);

  /// Skips characters as long as they are among `between`, and returns the next one, with which
  /// read() will begin; nullopt at the end. Error: as unreadable().
  Result<std::optional<char>> next_letter(std::string_view between);
  /// Reads the value that begins at the next character. Error: usage, if it is not JSON, is nested
  /// deeper than `most_json_levels` (core/json_text.h), or exceeds a limit; the caller adds path
  /// and line to that message. If reading fails, it is that of unreadable(), which names the
  /// path.
  Result<JsonNode> read(const JsonLimits& limits);

  /// Returns the part of a text that has not been read; for a file, only the part in the buffer.
  std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }
  /// Skips everything up to and including the next line end.
  void skip_line();

  /// Returns the line of the next character, from 1.
  std::size_t line() const { return line_; }
  /// Returns how many values have been read, including nested ones and those of a failed read().
  std::size_t count() const { return count_; }

 private:
  class Letters;  // presents the characters to RapidJSON
  bool at_end() const { return at_ == end_; }
  char take();
  void refill();

  const char* at_;
  const char* end_;
  std::size_t line_ = 1, count_ = 0;
  std::string path_;
  InputFile file_;  // not open if a text is read
  int error_ = 0;   // errno of the last attempt to read the file
  std::vector<char> buffer_;
};

}  // namespace assay
