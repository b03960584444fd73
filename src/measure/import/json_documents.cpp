#include "measure/import/json_documents.h"

#include <fmt/format.h>

#include "core/measured_unit.h"
#include "core/text.h"

namespace assay {
namespace {

constexpr std::size_t most_values = 8'000'000;

std::string_view without_mark(std::string_view text) {
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

}  // namespace

Result<std::vector<JsonDocument>> parse_json_documents(const ImportText& input) {
  std::vector<JsonDocument> documents;
  JsonValues values(without_mark(input.text));
  const auto wrong = [&](std::string_view what) {
    return Error{ErrorKind::usage, fmt::format("{}:{}: {}", input.name, values.line(), what)};
  };
  while (const auto letter = TRY(values.next_letter(" \t\r\n"))) {
    if (*letter != '{' && *letter != '[') return wrong("it is not JSON");
    const std::size_t line = values.line();
    auto node = values.read({.values = most_values});
    if (!node.ok()) return wrong(node.error().message);
    if (values.count() > most_values) return wrong("its JSON contains more than 8 million values");
    documents.push_back({std::move(*node), line});
  }
  if (documents.empty()) return wrong("it is empty");
  return documents;
}

bool looks_like_json(std::string_view text) {
  const std::string_view begin = trim(without_mark(text).substr(0, 4096));
  return begin.starts_with('{') || begin.starts_with('[');
}

void add_metric(Record& record, const JsonNode& value, std::string_view name, double factor,
                std::string_view unit, Better better) {
  const auto number = value.number();
  if (!number) return;
  record.metrics.push_back(metric(name, to_si(*number, factor), unit, better, value.text));
}

void add_metric(Record& record, const JsonNode& object, std::string_view key, std::string_view name,
                double factor, std::string_view unit, Better better) {
  if (const JsonNode* value = object.find(key)) {
    add_metric(record, *value, name, factor, unit, better);
  }
}

std::optional<std::vector<double>> numbers_of(const JsonNode* array) {
  if (array == nullptr || !array->is_array()) return std::nullopt;
  std::vector<double> numbers;
  numbers.reserve(array->items.size());
  for (const JsonNode& item : array->items) {
    const auto number = item.kind == JsonNode::Kind::number ? item.number() : std::nullopt;
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace assay
