// The JSON documents in a program's output, and their numbers as metrics.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "core/json_node.h"
#include "core/result.h"
#include "results/import/record_builder.h"

namespace assay {

struct JsonDocument {
  JsonNode node;
  std::size_t line = 0;  ///< first line of the value, from 1
};

/// Returns the objects and arrays in a file, one per line or not; log lines before, between and
/// after them are skipped. Error: usage, "NAME:LINE: ...": not JSON, no JSON found, nested deeper
/// than 64 levels, or more than 8 million values.
Result<std::vector<JsonDocument>> parse_json_documents(const ImportText& input);

/// Returns the first object or array of a text that may be cut off, for Importer::recognises();
/// nullopt if it is no JSON, is not complete or holds more than 200,000 values, as traces do.
std::optional<JsonNode> first_json_document(std::string_view text);

/// Returns whether a line of the text begins an object, or an array of objects.
bool looks_like_json(std::string_view text);

/// Adds the number `value`, multiplied by `factor`, as a metric with this name and unit; does
/// nothing if it is not a number.
void add_metric(Record& record, const JsonNode& value, std::string_view name, double factor,
                std::string_view unit, Better better);
/// Adds the number of the member `key`. Do not use it in loops over all members, because each call
/// searches them.
void add_metric(Record& record, const JsonNode& object, std::string_view key, std::string_view name,
                double factor, std::string_view unit, Better better);

/// Returns the numbers of an array, in order; nullopt if it is not an array or contains anything
/// else.
std::optional<std::vector<double>> numbers_of(const JsonNode* array);

}  // namespace assay
