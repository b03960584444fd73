// JSON of other programs. Numbers keep the text they were written with; Python's Infinity and NaN,
// which are no JSON, are read as text; several values may follow each other in one file.
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
  std::string text;               ///< a number as written; a text's content; "true", "false"
  std::vector<JsonNode> items;    ///< of an array or object
  std::vector<std::string> keys;  ///< of an object, as many as items

  bool is_object() const { return kind == Kind::object; }
  bool is_array() const { return kind == Kind::array; }
  /// The member; null if absent or this is no object.
  const JsonNode* find(std::string_view key) const;
  /// The member's text, number or boolean; empty if absent, null, or a container.
  std::string_view at(std::string_view key) const;
  /// Of a number or of a text that is one; empty otherwise.
  std::optional<double> number() const;
  /// The member's number().
  std::optional<double> number_at(std::string_view key) const;
};

struct JsonDocument {
  JsonNode node;
  std::size_t line = 0;  ///< where it begins, from 1
};

/// The values of a file that holds one or several, one to a line or not. Error: usage, "NAME:LINE:
/// ...": no JSON, nested deeper than 64 levels, more than 8 million values, or nothing at all.
Result<std::vector<JsonDocument>> parse_json_documents(const ImportText& input);

/// Whether the text begins as JSON does.
bool looks_like_json(std::string_view text);

/// Adds the number `value`, multiplied by `factor`, as a metric; nothing if it is none.
void add_metric(Record& record, const JsonNode& value, std::string_view name, double factor,
                std::string_view unit, Better better);
/// The same of the member `key`. Not for loops over all members: each call looks through them.
void add_metric(Record& record, const JsonNode& object, std::string_view key, std::string_view name,
                double factor, std::string_view unit, Better better);

/// The numbers of an array, in its order; empty if it is none or holds anything else.
std::optional<std::vector<double>> numbers_of(const JsonNode* array);

}  // namespace assay
