// Parses YAML from untrusted files to plain values that know their line. A reader checks them.
// Every error is of kind usage: "FILE:LINE: what is wrong; what is allowed".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay {

struct YamlValue {
  enum class Kind { nothing, text, list, map };  ///< nothing: null, or no value at all
  struct Key {
    std::string text;
    int line = 1;
  };
  Kind kind = Kind::nothing;
  int line = 1;                  ///< line of the file where the value begins, from 1
  std::string text;              ///< text of a scalar; numbers are text, too
  std::vector<Key> keys;         ///< keys of a map, in order, without duplicates
  std::vector<YamlValue> items;  ///< items of a list, or the values of a map's keys
};

/// Makes the error of kind usage "FILE:LINE: message".
Error at_line(std::string_view file, int line, std::string_view message);

/// Parses `text`, which holds one document; `file` is for messages. Besides bad syntax, these are
/// errors: a second document, a key that is not text or is given twice, more than 64 levels, and
/// more than 100000 values, aliases counted each time.
Result<YamlValue> parse_yaml(std::string_view text, std::string_view file);

/// Returns a YAML scalar, in double quotes, that reads back as `text`; bytes that are not UTF-8
/// become U+FFFD.
std::string yaml_scalar(std::string_view text);

/// Reads a map's members. `value` and `file` must outlive it.
class YamlReader {
 public:
  /// Error: `value` is not a map, in which case `what` is the message, or it has keys other than
  /// `allowed`.
  static Result<YamlReader> of(const YamlValue& value, std::string_view file, std::string_view what,
                               const std::vector<std::string>& allowed);

  const YamlValue& value() const { return *value_; }
  /// Returns null if the map has no such key.
  const YamlValue* find(std::string_view key) const;

  /// Reads a text. Error: the key is missing, or its text is empty.
  Result<std::string> text(std::string_view key) const;
  /// Reads a list of strings, or a single string. Error: the key is missing, there is no string, or
  /// the list holds something else.
  Result<std::vector<std::string>> texts(std::string_view key) const;

  /// These functions set `target` if the key is present; otherwise they leave it unchanged.
  Status optional(std::string_view key, std::string& target) const;
  Status optional(std::string_view key, std::vector<std::string>& target) const;
  /// Reads a map of strings as keys and values.
  Status optional(std::string_view key,
                  std::vector<std::pair<std::string, std::string>>& target) const;
  Status flag(std::string_view key, bool& target) const;  ///< true, false, on, off, yes, no
  /// Reads a whole number from `least` to `most`.
  Status count(std::string_view key, std::uint64_t least, std::uint64_t most,
               std::uint64_t& target) const;
  /// Read a duration and a size as parse_duration() and parse_size() (core/units.h).
  Status duration(std::string_view key, std::optional<double>& seconds) const;
  Status size(std::string_view key, std::optional<std::uint64_t>& bytes) const;
  /// Reads "2%" or "0.02", above `least` and below `most`.
  Status share(std::string_view key, double least, double most, double& target) const;

  /// Returns an error of kind usage, at the line of the key's value, or of the map if there is
  /// none.
  Error wrong(std::string_view key, std::string_view message) const;
  Error wrong(const YamlValue& value, std::string_view message) const;

 private:
  YamlReader(const YamlValue& value, std::string_view file) : value_(&value), file_(file) {}

  const YamlValue* value_;
  std::string_view file_;
};

}  // namespace assay
