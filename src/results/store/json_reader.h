// Reads fields of untrusted JSON: every access is checked, and every error names the path of the
// field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.h"
#include "core/result.h"
#include "results/record/record.h"

namespace assay {

/// Reads the members of one object, which must outlive the reader. Unless said otherwise, a member
/// that is missing or of another type is an error: usage, naming the field.
class JsonReader {
 public:
  /// Error: usage if `json` is not an object. `path` is its field's name for messages; "": none.
  static Result<JsonReader> of(const Json& json, std::string path = "");

  bool has(const char* key) const;
  /// Returns the member, null if absent.
  const Json* find(const char* key) const;
  Result<JsonReader> object(const char* key) const;

  Result<std::string> text(const char* key) const;
  Result<double> number(const char* key) const;  ///< null reads as NaN, which JSON cannot express
  Result<std::uint64_t> count(const char* key) const;  ///< a whole number, not negative
  Result<bool> flag(const char* key) const;
  Result<std::vector<double>> numbers(const char* key) const;
  /// Returns keys and values of an object whose values are all text, in order.
  Result<std::vector<std::pair<std::string, std::string>>> texts(const char* key) const;

  /// These functions set `target` if the key exists, else leave it unchanged. A double may be null,
  /// which is NaN.
  Status optional(const char* key, std::string& target) const;
  Status optional(const char* key, double& target) const;
  Status optional(const char* key, std::optional<double>& target) const;
  Status optional(const char* key, std::uint64_t& target) const;
  Status optional(const char* key, int& target) const;

  /// Returns the enumerator from `first` to `last`, inclusive, whose name_of() equals the text at
  /// `key`.
  template <typename Enum>
  Result<Enum> one_of(const char* key, Enum first, Enum last) const {
    const std::string name = TRY(text(key));
    for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
      if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
    }
    std::string allowed;
    for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(name_of(static_cast<Enum>(i)));
    }
    return wrong(key, "must be one of " + allowed);
  }

  /// Returns the error "field samples.seconds <message>". Kind: usage.
  Error wrong(std::string_view key, std::string_view message) const;

 private:
  JsonReader(const Json& json, std::string path) : json_(&json), path_(std::move(path)) {}
  Result<const Json*> required(const char* key) const;

  const Json* json_;
  std::string path_;
};

}  // namespace assay
