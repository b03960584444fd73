// Reads JSON objects one at a time from a file that holds an array of them or a sequence. Such
// files can have a gigabyte, of which few prompts are used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/json_node.h"
#include "core/result.h"

namespace assay {

class JsonObjects {
 public:
  /// Error: as unreadable() (core/input_file.h).
  static Result<JsonObjects> open(const std::string& path);

  /// The next object; empty at the file's end. Error: usage, "FILE:LINE: ...": not JSON, not an
  /// object, an array without its end, or an object of more than 16 MiB or two million values or
  /// nested deeper than 64 levels; as unreadable().
  Result<std::optional<JsonNode>> next();

  /// Returns the error "FILE:LINE: message"; the last object began in that line.
  Error wrong(std::string_view message) const;

 private:
  JsonObjects(std::string path, JsonValues values)
      : path_(std::move(path)), values_(std::move(values)) {}

  std::string path_;
  JsonValues values_;
  std::size_t line_ = 1;  // in which the last object began
  bool in_array_ = false;
};

/// Returns the member as text; `object` may be any JSON value. Error: usage, with a message that
/// JsonObjects::wrong() completes.
Result<std::string> text_at(const JsonNode& object, std::string_view key);
/// Returns the member as a number from 0 to `most`. Error: as text_at().
Result<double> number_at(const JsonNode& object, std::string_view key, double most);
/// Returns the member as a whole number from 0 to `most`. Error: as text_at().
Result<std::uint64_t> count_at(const JsonNode& object, std::string_view key, std::uint64_t most);

}  // namespace assay
