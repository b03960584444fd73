#include "results/import/matrix.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "results/import/text_lines.h"

namespace assay {
namespace {

/// "gpu0" of "GPU" and "00", and the number of words used.
std::pair<std::string, std::size_t> device_at(const std::vector<std::string_view>& words,
                                              std::size_t at) {
  const std::string kind = lower_case(words[at]);
  const bool numbered = kind == "gpu" || kind == "cpu" || kind == "nic";
  if (numbered && at + 1 < words.size()) {
    if (const auto number = parse_count(words[at + 1])) {
      return {fmt::format("{}{}", kind, *number), 2};
    }
  }
  return {kind, 1};
}

}  // namespace

bool is_matrix_value(std::string_view word) {
  return word == "N/A" || parse_number(word).has_value();
}

std::vector<std::string> matrix_header(const std::vector<std::string_view>& words) {
  std::vector<std::string> columns;
  for (std::size_t at = 1; at < words.size();) {
    auto [name, used] = device_at(words, at);
    columns.push_back(std::move(name));
    at += used;
  }
  return columns;
}

std::optional<MatrixRow> matrix_row(const std::vector<std::string_view>& words) {
  if (words.empty()) return std::nullopt;
  MatrixRow row;
  std::size_t at = 0;
  std::tie(row.name, at) = device_at(words, 0);
  if (at < words.size() && (words[at] == "->" || words[at] == "<-" || words[at] == "<->")) {
    row.arrow = words[at++];
  }
  row.values.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  const bool numbered = row.name.find_first_of("0123456789") != std::string::npos;
  if (!numbered || row.values.empty() ||
      !std::all_of(row.values.begin(), row.values.end(), is_matrix_value)) {
    return std::nullopt;
  }
  return row;
}

}  // namespace assay
