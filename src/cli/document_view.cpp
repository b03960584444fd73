#include "cli/document_view.h"

#include <algorithm>
#include <vector>

#include "cli/screen_text.h"
#include "cli/table.h"

namespace assay::cli {
namespace {

/// The text without the targets of links, "[text](target)", and without the marks of bold text.
/// Code between backquotes stays as it is.
std::string without_marks(std::string_view text) {
  std::string plain;
  bool code = false;
  while (!text.empty()) {
    if (!code && text.starts_with("**")) {
      text.remove_prefix(2);
      continue;
    }
    const std::size_t middle = code || text.front() != '[' ? text.npos : text.find("](");
    const std::size_t end = middle == text.npos ? middle : text.find(')', middle);
    if (end != text.npos && text.substr(1, middle - 1).find('[') == text.npos) {
      plain += without_marks(text.substr(1, middle - 1));
      text.remove_prefix(end + 1);
      continue;
    }
    code = code != (text.front() == '`');
    plain += text.front();
    text.remove_prefix(1);
  }
  return plain;
}

/// The cells of "| a | `b|c` |".
std::vector<std::string> cells_of_row(std::string_view line) {
  std::vector<std::string> cells;
  std::string cell;
  bool code = false;
  for (const char c : line.substr(1)) {
    code = code != (c == '`');
    if (c != '|' || code) {
      cell += c;
      continue;
    }
    const std::size_t begin = std::min(cell.find_first_not_of(' '), cell.size());
    cells.push_back(without_marks(cell.substr(begin, cell.find_last_not_of(' ') + 1 - begin)));
    cell.clear();
  }
  return cells;
}

/// A table of Markdown: a row of titles, one of dashes, and the others.
std::string table_text(const std::vector<std::string_view>& lines, std::size_t width,
                       const Style& style) {
  std::vector<Column> columns;
  for (std::string& title : cells_of_row(lines.front())) columns.push_back({std::move(title)});
  const std::size_t count = columns.size();
  Table table(std::move(columns));
  for (std::size_t i = 2; i < lines.size(); ++i) {
    std::vector<std::string> row = cells_of_row(lines[i]);
    row.resize(count);
    table.add(std::move(row));
  }
  return table.render(width, style, 0);
}

}  // namespace

std::string document_text(std::string_view markdown, std::size_t width, const Style& style) {
  if (width == 0) return std::string(markdown);
  std::string shown, prose;
  std::vector<std::string_view> table;
  bool code = false;
  const auto end_table = [&] {
    if (table.empty()) return;
    shown += reflowed(prose, width) + table_text(table, width, style);
    prose.clear();
    table.clear();
  };
  while (!markdown.empty()) {
    const std::size_t end = std::min(markdown.find('\n'), markdown.size());
    const std::string_view line = markdown.substr(0, end);
    markdown.remove_prefix(std::min(end + 1, markdown.size()));
    const bool fence = line.starts_with("```");
    if (!code && line.starts_with('|')) {
      table.push_back(line);
      continue;
    }
    end_table();
    code = code != fence;
    if (code || fence || line.starts_with("    ")) {
      prose += line;
    } else if (line.starts_with('#')) {
      prose += style.bold(without_marks(line.substr(line.find_first_not_of("# "))));
    } else {
      prose += without_marks(line);
    }
    prose += '\n';
  }
  end_table();
  return shown + reflowed(prose, width);
}

}  // namespace assay::cli
