#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

namespace assay::cli {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t further_indent = 4;  // indent of columns that are shown below their row
// Text columns are wrapped down to this width before other columns are moved below the row. They
// become narrower only if the columns that must stay do not fit otherwise.
constexpr std::size_t comfortable = 30, narrowest = 12;

std::string padded(const std::string& text, std::size_t width, Column::Align align) {
  const std::string pad(width - std::min(width, display_width(text)), ' ');
  return align == Column::Align::right ? pad + text : text + pad;
}

std::string without_end_spaces(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

struct Table::Layout {
  std::vector<std::size_t> beside, below;  ///< columns, in their order
  std::vector<std::size_t> common;         ///< shown once above: equal in all rows
  std::vector<std::size_t> widths;         ///< width of each column

  std::size_t total(std::size_t indent) const {
    std::size_t total = indent + (beside.empty() ? 0 : (beside.size() - 1) * gap);
    for (const std::size_t column : beside) total += widths[column];
    return total;
  }
};

std::size_t Table::content_width(std::size_t column) const {
  std::size_t width = 0;
  for (const auto& row : rows_) width = std::max(width, display_width(row[column]));
  return width;
}

Table::Layout Table::fit(std::size_t width, std::size_t indent) const {
  Layout layout;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::size_t content = content_width(i);
    layout.widths.push_back(std::max(content, display_width(columns_[i].title)));
    if (columns_[i].importance == 0 || content > 0) layout.beside.push_back(i);
  }
  if (width == 0) return layout;
  /// Narrows text columns, the widest first, down to a width of `least`.
  const auto narrow = [&](std::size_t least) {
    Layout narrowed = layout;
    while (narrowed.total(indent) > width) {
      std::size_t* widest = nullptr;
      for (const std::size_t i : narrowed.beside) {
        std::size_t& one = narrowed.widths[i];
        const bool parts = columns_[i].align == Column::Align::left && one > least;
        if (parts && (widest == nullptr || one > *widest)) widest = &one;
      }
      if (widest == nullptr) break;
      --*widest;
    }
    return narrowed;
  };
  const auto move_below = [&](std::size_t place) {
    layout.below.push_back(layout.beside[place]);
    layout.beside.erase(layout.beside.begin() + static_cast<std::ptrdiff_t>(place));
    std::sort(layout.below.begin(), layout.below.end());
  };
  /// The least important of the optional columns; npos: there are none.
  const auto least_important = [&] {
    std::size_t least = std::string::npos;
    int importance = INT_MAX;
    for (std::size_t place = 0; place < layout.beside.size(); ++place) {
      const int one = columns_[layout.beside[place]].importance;
      if (one == 0 || one >= importance) continue;
      importance = one;
      least = place;
    }
    return least;
  };
  Layout narrowed = narrow(comfortable);
  while (narrowed.total(indent) > width) {
    const std::size_t place = least_important();
    if (place == std::string::npos) break;
    move_below(place);
    narrowed = narrow(comfortable);
  }
  while (narrowed.total(indent) > width) {
    narrowed = narrow(narrowest);
    if (narrowed.total(indent) <= width || layout.beside.size() < 2) break;
    move_below(layout.beside.size() - 1);
  }
  std::erase_if(narrowed.below, [&](std::size_t column) {
    const bool same = rows_.size() > 1 && std::all_of(rows_.begin(), rows_.end(), [&](auto& row) {
                        return row[column] == rows_.front()[column];
                      });
    if (same) narrowed.common.push_back(column);
    return same;
  });
  return narrowed;
}

std::string Table::row_text(const std::vector<std::string>& row, const Layout& layout,
                            std::size_t indent) const {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (const std::size_t i : layout.beside) {
    cells.push_back(lines_of(row[i], layout.widths[i], LongWords::broken));
    height = std::max(height, cells.back().size());
  }
  std::string text;
  for (std::size_t line = 0; line < height; ++line) {
    std::string joined(indent, ' ');
    for (std::size_t place = 0; place < cells.size(); ++place) {
      const std::size_t i = layout.beside[place];
      if (place > 0) joined += std::string(gap, ' ');
      joined += padded(line < cells[place].size() ? cells[place][line] : "", layout.widths[i],
                       columns_[i].align);
    }
    text += without_end_spaces(std::move(joined)) + "\n";
  }
  return text;
}

/// The columns below a row, each as "title value", aligned from row to row.
std::string Table::text_below(const std::vector<std::string>& row, const Layout& layout,
                              std::size_t width, std::size_t indent, const Style& style) const {
  const std::size_t room = std::max(width, indent + narrowest) - indent;
  std::string text, line;
  std::size_t used = 0;
  const auto end_line = [&] {
    const std::string shown = without_end_spaces(std::move(line));
    line.clear();
    used = 0;
    if (shown.empty()) return;
    for (const std::string& part : lines_of(shown, room, LongWords::broken)) {
      text += std::string(indent, ' ') + part + "\n";
    }
  };
  for (const std::size_t i : layout.below) {
    const std::string& title = columns_[i].title;
    const std::size_t label = title.empty() ? 0 : display_width(title) + 1;
    const std::size_t content = content_width(i);
    if (used > 0 && used + gap + label + content > room) end_line();
    if (used > 0) line += std::string(gap, ' ');
    used += (used > 0 ? gap : 0) + label + content;
    // An empty value has no title, but keeps its width.
    const std::string shown = title.empty() || row[i].empty() ? "" : style.dim(title) + " ";
    line += padded(shown, label, Column::Align::left) + padded(row[i], content, columns_[i].align);
  }
  end_line();
  return text;
}

std::string Table::render(std::size_t width, const Style& style, std::size_t indent) const {
  const Layout layout = fit(width, indent);
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(style.dim(column.title));
  std::string text;
  for (const std::size_t i : layout.common) {
    text += fmt::format("{}{}{}", text.empty() ? "all rows: " : ", ", columns_[i].title,
                        columns_[i].title.empty() ? "" : " ") +
            rows_.front()[i];
  }
  if (!text.empty()) text = std::string(indent, ' ') + wrapped(text, indent + 2, width) + "\n";
  text += row_text(titles, layout, indent);
  for (const auto& row : rows_) {
    text += row_text(row, layout, indent);
    text += text_below(row, layout, width, indent + further_indent, style);
  }
  return text;
}

}  // namespace assay::cli
