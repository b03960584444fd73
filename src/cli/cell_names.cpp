#include "cli/cell_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/screen_text.h"

namespace assay::cli {
namespace {

constexpr std::size_t longest_single_name = 48;  // letters

/// Whether the word, up to the next space, sets an axis. A value of another program's axis may
/// contain spaces.
bool sets_axis(std::string_view word) {
  const std::size_t end = word.find_first_of("= ");
  return end != std::string_view::npos && end > 0 && word[end] == '=';
}

/// {"memory", "op=copy", "size=4KiB"}
std::vector<std::string> parts_of(std::string_view cell) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] != ' ' || !sets_axis(cell.substr(i + 1))) continue;
    parts.emplace_back(cell.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.emplace_back(cell.substr(begin));
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, " "));
}

}  // namespace

std::string CellNames::heading(std::size_t width, std::size_t indent) const {
  if (common.empty()) return {};
  const std::string text = (names.size() == 1 ? "cell: " : "all cells: ") + common;
  return fmt::format("{:{}}{}\n", "", indent, wrapped(text, indent + 2, width));
}

CellNames cell_names(const std::vector<std::string>& cells) {
  if (cells.empty()) return {};
  if (cells.size() == 1) {
    if (cells.front().size() <= longest_single_name) return {"", cells};
    return {cells.front(), {parts_of(cells.front()).front()}};
  }
  std::vector<std::vector<std::string>> all;
  for (const std::string& cell : cells) all.push_back(parts_of(cell));
  std::vector<std::string> common = all.front();
  std::erase_if(common, [&](const std::string& part) {
    return std::any_of(all.begin(), all.end(), [&](const auto& parts) {
      return std::find(parts.begin(), parts.end(), part) == parts.end();
    });
  });
  CellNames result{joined(common), {}};
  for (std::vector<std::string>& parts : all) {
    const std::string benchmark = parts.front();
    std::erase_if(parts, [&](const std::string& part) {
      return std::find(common.begin(), common.end(), part) != common.end();
    });
    result.names.push_back(parts.empty() ? benchmark : joined(parts));
  }
  return result;
}

}  // namespace assay::cli
