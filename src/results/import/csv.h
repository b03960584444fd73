// Tables of values between separators (CSV) as other programs write them: quoted fields, doubled
// quotes, CRLF, a byte-order mark.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct CsvRow {
  std::vector<std::string> fields;  ///< unquoted and trimmed; at least one
  std::size_t line = 0;             ///< first line of the row, from 1
};

/// Reads rows; empty lines are skipped. A quoted field may span up to 100 lines; a quote that is
/// not closed by then is an ordinary letter, so that it cannot swallow the file. What follows the
/// 10,000th separator of a row is one field.
class CsvReader {
 public:
  /// `text` must outlive the reader. `is_part`: more text follows, so that a row which does not end
  /// in `text` is not returned.
  CsvReader(std::string_view text, char separator, bool is_part = false);
  /// Returns false, with an undefined `row`, if there is no further row.
  bool next(CsvRow& row);
  /// Returns what next() has not returned.
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  char separator_;
  bool is_part_;
  std::size_t line_ = 1;
};

/// Column names, to look up the fields of rows by name.
class CsvTable {
 public:
  CsvTable() = default;
  /// If several columns have the same name, the first one is found.
  explicit CsvTable(std::vector<std::string> columns);
  std::size_t size() const { return columns_.size(); }
  const std::vector<std::string>& columns() const { return columns_; }
  bool has(std::string_view column) const;
  /// Returns an empty text if there is no such column or the row is too short.
  std::string_view at(const CsvRow& row, std::string_view column) const;

 private:
  std::vector<std::string> columns_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

}  // namespace assay
