#include "results/import/json_documents.h"

#include <fmt/format.h>

#include "core/text.h"
#include "results/import/text_lines.h"
#include "results/record/measured_unit.h"

namespace assay {
namespace {

constexpr std::size_t most_values = 8'000'000;

std::string_view without_mark(std::string_view text) {
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

/// Whether a line that programs print beside their JSON begins here, "ggml_cuda_init: found 8 ROCm
/// devices" or "[2026-01-02 03:04:05] INFO", and not a value, nor what is left of a damaged one.
bool is_log_line(std::string_view text) {
  constexpr std::string_view white_space = " \t\r\n";
  const std::size_t next = text.find_first_not_of(white_space, 1);
  const char second = next == text.npos ? '\0' : text[next];
  switch (text[0]) {
    case '{':
      return second != '"' && second != '}' && second != '\0';
    case '[':
      return second != '{' && second != '[' && second != ']' && second != '\0';
    case '}':
    case ']':
    case ',':
    case ':':
    case '"':
      return false;
    default:
      return true;
  }
}

}  // namespace

Result<std::vector<JsonDocument>> parse_json_documents(const ImportText& input) {
  std::vector<JsonDocument> documents;
  JsonValues values(without_mark(input.text));
  const auto wrong = [&](std::string_view what) {
    return Error{ErrorKind::usage, fmt::format("{}:{}: {}", input.name, values.line(), what)};
  };
  std::size_t ended = 0;  // the line in which the last value ended
  while (const auto letter = TRY(values.next_letter(" \t\r\n"))) {
    const std::size_t line = values.line();
    if (line != ended && is_log_line(values.rest())) {
      values.skip_line();
      continue;
    }
    if (*letter != '{' && *letter != '[') return wrong("it is not JSON");
    auto node = values.read({.values = most_values});
    if (!node.ok()) return wrong(node.error().message);
    if (values.count() > most_values) return wrong("its JSON contains more than 8 million values");
    documents.push_back({std::move(*node), line});
    ended = values.line();
  }
  if (documents.empty()) return wrong("it holds no JSON");
  return documents;
}

bool looks_like_json(std::string_view text) {
  LineReader lines(text);
  TextLine line;
  while (lines.next(line)) {
    const std::size_t begin = line.text.find_first_of("{[");
    if (begin == line.text.npos || !trim(line.text.substr(0, begin)).empty()) continue;
    const auto at = static_cast<std::size_t>(line.text.data() + begin - text.data());
    if (!is_log_line(text.substr(at))) return true;
  }
  return false;
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
