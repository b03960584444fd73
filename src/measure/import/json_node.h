// JSON of other programs. Numbers keep their text; Python's Infinity and NaN, which are not JSON,
// are read as text; a file may contain several values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "measure/import/draft.h"

namespace assay {

struct JsonNode {
  enum class Kind { null, boolean, number, text, array, object };
  Kind kind = Kind::null;
  std::string text;               ///< a number as written; the content of a text; "true", "false"
  std::vector<JsonNode> items;    ///< of an array or an object
  std::vector<std::string> keys;  ///< of an object, one per item

  bool is_object() const { return kind == Kind::object; }
  bool is_array() const { return kind == Kind::array; }
  /// The member; null if absent or this is not an object.
  const JsonNode* find(std::string_view key) const;
  /// The member's text, number or boolean; empty if absent, null, or a container.
  std::string_view at(std::string_view key) const;
  /// The value of a number, or of a text that is a number; else nullopt.
  std::optional<double> number() const;
  /// number() of the member.
  std::optional<double> number_at(std::string_view key) const;
};

struct JsonDocument {
  JsonNode node;
  std::size_t line = 0;  ///< first line of the value, from 1
};

/// The values in a file, one per line or not. Error: usage, "NAME:LINE: ...": not JSON, nested
/// deeper than 64 levels, more than 8 million values, or empty.
Result<std::vector<JsonDocument>> parse_json_documents(const ImportText& input);

/// Whether the text starts like JSON.
bool looks_like_json(std::string_view text);

/// Adds the number `value`, multiplied by `factor`, as a metric; does nothing if it is not a
/// number.
void add_metric(Record& record, const JsonNode& value, std::string_view name, double factor,
                std::string_view unit, Better better);
/// The same for the member `key`. Do not use it in loops over all members: each call searches them.
void add_metric(Record& record, const JsonNode& object, std::string_view key, std::string_view name,
                double factor, std::string_view unit, Better better);

/// The numbers of an array, in order; nullopt if it is not an array or contains anything else.
std::optional<std::vector<double>> numbers_of(const JsonNode* array);

}  // namespace assay
