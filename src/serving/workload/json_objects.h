// Reads JSON objects one at a time from a file that holds an array of them or a sequence. Such
// files can have a gigabyte, of which few prompts are used.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/result.h"

namespace assay {

class JsonObjects {
 public:
  /// Error: usage if the file cannot be read.
  static Result<JsonObjects> open(const std::string& path);

  /// The next object; empty at the file's end. Error: usage, "FILE:LINE: ...": not JSON, not an
  /// object, or an object of more than 16 MiB or nested deeper than 64 levels.
  Result<std::optional<SortedJson>> next();

  /// "FILE:LINE: message", with the line in which the last object began.
  Error wrong(std::string_view message) const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  JsonObjects(std::string path, std::unique_ptr<std::FILE, Close> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  int get();
  Result<std::string> object_text();

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::size_t line_ = 1, object_line_ = 1;
};

/// The member as text; `object` may be any JSON value. Error: the message alone.
Result<std::string> text_at(const SortedJson& object, const char* key);
/// The member as a number between 0 and `most`. Error: the message alone.
Result<double> number_at(const SortedJson& object, const char* key, double most);
/// The same as a whole number.
Result<std::uint64_t> count_at(const SortedJson& object, const char* key, std::uint64_t most);

}  // namespace assay
