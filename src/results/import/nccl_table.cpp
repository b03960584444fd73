#include "results/import/nccl_table.h"

#include <algorithm>

#include "core/text.h"
#include "results/import/collective.h"

namespace assay {
namespace {

/// Returns the length of a tag "[1,0]<stdout>:" or "[1,12]<stderr>:" at `at`; 0 if there is none.
std::size_t mpi_tag(std::string_view line, std::size_t at) {
  const std::size_t close = line.find(']', at);
  if (line[at] != '[' || close == std::string_view::npos || close - at > 24) return 0;
  if (line.substr(at + 1, close - at - 1).find_first_not_of("0123456789,") !=
      std::string_view::npos) {
    return 0;
  }
  for (const std::string_view stream : {"<stdout>:", "<stderr>:"}) {
    if (line.substr(close + 1).starts_with(stream)) return close + 1 + stream.size() - at;
  }
  return 0;
}

/// Removes the "0: " of srun --label or the "[0] " of other launchers at the start of a line.
std::string_view without_label(std::string_view line) {
  const std::string_view text = trim(line);
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos && is_digits(text.substr(0, colon)) && colon <= 6) {
    return text.substr(colon + 1);
  }
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close != std::string_view::npos && is_digits(text.substr(1, close - 1))) {
      const std::string_view rest = text.substr(close + 1);
      return rest.starts_with(':') ? rest.substr(1) : rest;
    }
  }
  return line;
}

/// "2025-10-14", "10:00:00" before the size.
bool begins_with_time(const std::vector<std::string_view>& words) {
  return words.size() > 2 && words[0].size() == 10 && words[0][4] == '-' && words[1].size() == 8 &&
         words[1][2] == ':';
}

bool is_time(std::string_view name) {
  return name == "time" || name == "cputime";
}

/// Returns whether this column occurs once in each half.
bool of_a_half(std::string_view name) {
  return is_time(name) || name == "algbw" || name == "busbw" || name == "#wrong" ||
         name == "error" || name == "hipevt" || name.starts_with("i_");
}

void append_half(std::vector<NcclColumn>& columns, int half, std::size_t width) {
  columns.push_back({"time", half});
  if (width == 5) columns.push_back({"hipevt", half});
  columns.push_back({"algbw", half});
  columns.push_back({"busbw", half});
  columns.push_back({"#wrong", half});
  if (width == 8) {
    for (const char* name : {"i_min", "i_max", "i_p99", "i_cv%"}) columns.push_back({name, half});
  }
}

/// Guesses the columns of rows that were cut out of their table. After size, count and type, newer
/// versions have redop (a word) and root (a whole number). Then one or two halves follow, with 4
/// columns each, 5 with event times, or 8 with times per iteration.
std::vector<NcclColumn> guess_columns(const std::vector<std::string_view>& words) {
  std::vector<NcclColumn> columns = {{"size", 0}, {"count", 0}, {"type", 0}};
  std::size_t at = columns.size();
  if (at < words.size() && !parse_number(words[at]) && lower_case(words[at]) != "n/a") {
    columns.push_back({"redop", 0});
    ++at;
  }
  std::size_t left = words.size() - at;
  const bool stamped = left > 2 && words.back().size() == 8 && words.back()[2] == ':';
  if (stamped) left -= 2;
  // With a root there are 9, 11 or 17 columns for two halves and 5 for one; without it 8, 10, 16
  // and 4.
  const bool root = left % 2 == 1;
  if (root) {
    columns.push_back({"root", 0});
    --left;
  }
  if (left == 4) {
    append_half(columns, 1, 4);
  } else if (left == 8 || left == 10 || left == 16) {
    append_half(columns, 1, left / 2);
    append_half(columns, 2, left / 2);
  } else {
    return {};
  }
  if (stamped) columns.push_back({"timestamp", 0});
  return columns;
}

/// A half is complete if every one of its columns has a word.
void count_halves(NcclRow& row) {
  for (int half = 1; half <= 2; ++half) {
    std::size_t columns = 0, words = 0;
    for (std::size_t i = 0; i < row.columns.size(); ++i) {
      if (row.columns[i].half != half) continue;
      ++columns;
      if (i < row.words.size()) ++words;
    }
    if (columns == 0) continue;
    if (words == columns) {
      row.halves = half;
    } else {
      ++row.cut_halves;
    }
  }
}

}  // namespace

std::string_view without_tags(std::string_view line, std::string& buffer) {
  // Old versions of librccl print this without a newline, so the first comment follows on the same
  // line.
  if (line.starts_with("On gfx")) {
    const std::size_t glued = line.find('#');
    if (glued != std::string_view::npos) line = line.substr(glued);
  }
  if (contains(line, "<std")) {
    buffer.clear();
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t tag = mpi_tag(line, at);
      if (tag == 0) {
        buffer += line[at++];
      } else {
        at += tag;
      }
    }
    line = buffer;
  }
  return without_label(line);
}

std::vector<NcclColumn> nccl_header(std::string_view line) {
  if (!contains(line, "size") || !contains(line, "algbw")) return {};
  std::vector<std::string_view> words = split_words(line);
  if (!words.empty() && words.front() == "#") words.erase(words.begin());
  if (!words.empty() && words.front() == "#size") words.front() = "size";
  const std::size_t at = !words.empty() && words.front() == "timestamp" ? 1 : 0;
  if (words.size() < at + 6 || words[at] != "size" || words[at + 1] != "count" ||
      words[at + 2] != "type") {
    return {};
  }
  std::vector<NcclColumn> columns;
  int half = 0;
  for (const std::string_view word : words) {
    const std::string name(word == "wrong" ? "#wrong" : word);  // the # may be lost
    if (is_time(name)) ++half;
    if (half > 2) return {};
    columns.push_back({name, of_a_half(name) ? half : 0});
  }
  return half == 0 ? std::vector<NcclColumn>() : columns;
}

bool is_nccl_row(std::string_view line) {
  const auto words = split_words(line, 8);
  const std::size_t at = begins_with_time(words) ? 2 : 0;
  return words.size() > at + 3 && is_digits(words[at]) && is_digits(words[at + 1]) &&
         !collective_type(words[at + 2]).empty();
}

std::string_view NcclRow::text(std::string_view name, int half) const {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (columns[i].name == name && columns[i].half == half) return words[i];
  }
  return {};
}

std::optional<NcclRow> nccl_row(std::string_view line, const std::vector<NcclColumn>& columns) {
  if (!is_nccl_row(line)) return std::nullopt;
  NcclRow row;
  row.words = split_words(line);
  if (columns.empty() && begins_with_time(row.words)) {
    row.words.erase(row.words.begin(), row.words.begin() + 2);
  }
  row.columns = columns.empty() ? guess_columns(row.words) : columns;
  if (row.columns.empty()) return std::nullopt;
  // A timestamp is one column but two words, a date and a time of day.
  const auto named = [&](std::string_view name) {
    return static_cast<std::size_t>(
        std::find_if(row.columns.begin(), row.columns.end(),
                     [&](const NcclColumn& column) { return column.name == name; }) -
        row.columns.begin());
  };
  // Some versions have a redop column but print nothing there if the operation has none.
  const std::size_t redop = named("redop");
  if (redop < row.columns.size() && redop < row.words.size() && parse_number(row.words[redop])) {
    row.columns.erase(row.columns.begin() + static_cast<std::ptrdiff_t>(redop));
  }
  // Time stamps at the start may be taken for those of a logger.
  if (row.columns.front().name == "timestamp" && !begins_with_time(row.words)) {
    row.columns.erase(row.columns.begin());
  }
  const std::size_t stamp = named("timestamp");
  if (stamp < row.columns.size() && (stamp == 0 || row.words.size() == row.columns.size() + 1)) {
    const std::string_view date = row.words[stamp], hour = row.words[stamp + 1];
    row.words[stamp] = {date.data(),
                        static_cast<std::size_t>(hour.data() + hour.size() - date.data())};
    row.words.erase(row.words.begin() + static_cast<std::ptrdiff_t>(stamp) + 1);
  }
  if (row.words.size() > row.columns.size()) return std::nullopt;
  count_halves(row);
  return row;
}

}  // namespace assay
