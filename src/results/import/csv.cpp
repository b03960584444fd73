#include "results/import/csv.h"

#include <algorithm>

#include "core/text.h"
#include "results/import/text_lines.h"

namespace assay {
namespace {

constexpr std::size_t most_lines_of_a_field = 100;
constexpr std::size_t most_fields = 10'000;

/// Returns the position after the closing quote of the text quoted from `at`; npos if it is
/// unclosed. `cut`: whether that is because the text ends.
std::size_t quoted_end(std::string_view text, std::size_t at, bool& cut) {
  std::size_t lines = 0;
  for (++at; at < text.size() && lines < most_lines_of_a_field; ++at) {
    if (text[at] == '\n') ++lines;
    if (text[at] != '"') continue;
    if (at + 1 < text.size() && text[at + 1] == '"') {
      ++at;
    } else {
      return at + 1;
    }
  }
  cut = lines < most_lines_of_a_field;
  return std::string_view::npos;
}

std::string unquoted(std::string_view field) {
  field = trim(field);
  if (field.size() < 2 || field.front() != '"' || field.back() != '"') return std::string(field);
  std::string text;
  field = field.substr(1, field.size() - 2);
  for (std::size_t i = 0; i < field.size(); ++i) {
    text += field[i];
    if (field[i] == '"') ++i;  // a doubled quote
  }
  return std::string(trim(text));
}

}  // namespace

CsvReader::CsvReader(std::string_view text, char separator, bool is_part)
    : rest_(text), separator_(separator), is_part_(is_part) {
  if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
}

bool CsvReader::next(CsvRow& row) {
  while (!rest_.empty()) {
    row.fields.clear();
    row.line = line_;
    std::size_t begin = 0, at = 0;
    for (;; ++at) {
      if (at >= rest_.size() && is_part_) return false;
      const bool end = at >= rest_.size() || rest_[at] == '\n';
      if (end || (rest_[at] == separator_ && row.fields.size() < most_fields)) {
        row.fields.push_back(unquoted(rest_.substr(begin, std::min(at, rest_.size()) - begin)));
        begin = at + 1;
        if (end) break;
      } else if (rest_[at] == '"' && trim(rest_.substr(begin, at - begin)).empty()) {
        bool cut = false;
        const std::size_t close = quoted_end(rest_, at, cut);
        if (cut && is_part_) return false;
        if (close == std::string_view::npos) continue;
        line_ += static_cast<std::size_t>(
            std::count(rest_.begin() + static_cast<std::ptrdiff_t>(at),
                       rest_.begin() + static_cast<std::ptrdiff_t>(close), '\n'));
        at = close - 1;
      }
    }
    rest_ = at >= rest_.size() ? std::string_view() : rest_.substr(at + 1);
    ++line_;
    if (row.fields.size() > 1 || !row.fields.front().empty()) return true;
  }
  return false;
}

CsvTable::CsvTable(std::vector<std::string> columns) : columns_(std::move(columns)) {
  for (std::size_t i = 0; i < columns_.size(); ++i) places_.emplace(columns_[i], i);
}

bool CsvTable::has(std::string_view column) const {
  return places_.contains(column);
}

std::string_view CsvTable::at(const CsvRow& row, std::string_view column) const {
  const auto place = places_.find(column);
  if (place == places_.end() || place->second >= row.fields.size()) return {};
  return row.fields[place->second];
}

}  // namespace assay
