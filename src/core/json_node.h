// JSON that other programs wrote: of any size, several values in one file, numbers with their own
// text, and Python's Infinity and NaN. None of it is trusted.
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
  std::string text;  ///< a number as written, "NaN" too; the content of a text; "true", "false"
  std::vector<JsonNode> items;    ///< of an array or an object
  std::vector<std::string> keys;  ///< of an object, one per item

  bool is_object() const { return kind == Kind::object; }
  bool is_array() const { return kind == Kind::array; }
  /// The member; null if absent or this is not an object.
  const JsonNode* find(std::string_view key) const;
  /// The member's text, number or boolean; empty if absent, null, or a container.
  std::string_view at(std::string_view key) const;
  /// The value of a number, or of a text that is a number, if it is finite; else nullopt.
  std::optional<double> number() const;
  /// number() of the member.
  std::optional<double> number_at(std::string_view key) const;
};

struct JsonLimits {
  std::size_t values;            ///< one and all within it; each takes about 100 bytes of memory
  std::size_t bytes = SIZE_MAX;  ///< of one value's text
};

/// Reads value after value from a text or a file, of which it holds only a buffer.
class JsonValues {
 public:
  /// `text` must outlive this object.
  explicit JsonValues(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}
  /// A file or a pipe. Error: usage if it cannot be opened or is neither.
  static Result<JsonValues> open(const std::string& path);

  /// Skips all of `between` and returns the letter after it, which read() will begin with; empty at
  /// the end. Error: usage if the file cannot be read.
  Result<std::optional<char>> next_letter(std::string_view between);
  /// Reads the value that begins at the next letter. Error: usage, the message alone: not JSON,
  /// nested deeper than 64 levels, beyond a limit.
  Result<JsonNode> read(const JsonLimits& limits);

  /// What has not been read yet of a text; of a file, only what is in the buffer.
  std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }
  /// Skips all letters up to and including the next line end.
  void skip_line();

  /// The line of the next letter, from 1.
  std::size_t line() const { return line_; }
  /// How many values have been read, those within others too.
  std::size_t count() const { return count_; }

 private:
  class Letters;  // the same as RapidJSON reads it
  bool at_end() const { return at_ == end_; }
  char take();
  void refill();

  const char* at_;
  const char* end_;
  std::size_t line_ = 1, count_ = 0;
  std::string path_;
  InputFile file_;  // not open: a text
  int error_ = 0;   // the errno of the last attempt to read the file
  std::vector<char> buffer_;
};

}  // namespace assay
