#include "cli/table.h"

#include <algorithm>
#include <climits>
#include <numeric>

namespace assay::cli {
namespace {

constexpr std::size_t gap = 2;

std::size_t total_width(const std::vector<std::size_t>& widths, const std::vector<bool>& shown,
                        std::size_t indent) {
  std::size_t total = indent, count = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (!shown[i]) continue;
    total += widths[i];
    ++count;
  }
  return total + (count > 0 ? (count - 1) * gap : 0);
}

/// The least important column that is shown; npos if all that are left must stay.
std::size_t least_important(const std::vector<Column>& columns, const std::vector<bool>& shown) {
  std::size_t least = std::string::npos;
  int importance = INT_MAX;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (shown[i] && columns[i].importance > 0 && columns[i].importance < importance) {
      importance = columns[i].importance;
      least = i;
    }
  }
  return least;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {  // a colour: ESC [ digits m
      while (i < text.size() && text[i] != 'm') ++i;
      continue;
    }
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) ++width;  // not a continuation byte
  }
  return width;
}

std::string shorten(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  const std::size_t keep = width > 3 ? width - 3 : 0;
  std::string plain;
  for (std::size_t i = 0, columns = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && text[i] != 'm') ++i;
      continue;
    }
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80 && ++columns > keep) break;
    plain += text[i];
  }
  return plain + std::string(std::min<std::size_t>(3, width), '.');
}

std::vector<std::size_t> Table::widths(const std::vector<bool>& shown) const {
  std::vector<std::size_t> widths(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!shown[i]) continue;
    widths[i] = display_width(columns_[i].title);
    for (const auto& row : rows_) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

std::string Table::render(std::size_t width, const Style& style, std::size_t indent) const {
  std::vector<bool> shown(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    shown[i] = columns_[i].importance == 0 ||
               std::any_of(rows_.begin(), rows_.end(), [&](auto& row) { return !row[i].empty(); });
  }
  std::vector<std::size_t> widths = this->widths(shown);
  while (width > 0 && total_width(widths, shown, indent) > width) {
    const std::size_t drop = least_important(columns_, shown);
    if (drop == std::string::npos) break;
    shown[drop] = false;
    widths = this->widths(shown);
  }
  if (const std::size_t total = total_width(widths, shown, indent);
      width > 0 && total > width && !widths.empty()) {
    widths[0] -= std::min(widths[0] > 4 ? widths[0] - 4 : 0, total - width);
  }
  const auto line = [&](const auto& text_of) {
    std::string text(indent, ' ');
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!shown[i]) continue;
      if (text.size() > indent) text += std::string(gap, ' ');
      const std::string cell = shorten(text_of(i), widths[i]);
      const std::string pad(widths[i] - std::min(widths[i], display_width(cell)), ' ');
      text += columns_[i].align == Column::Align::right ? pad + cell : cell + pad;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = line([&](std::size_t i) { return style.dim(columns_[i].title); });
  for (const auto& row : rows_) text += line([&](std::size_t i) { return row[i]; });
  return text;
}

}  // namespace assay::cli
