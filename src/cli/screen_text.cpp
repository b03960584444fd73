#include "cli/screen_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace assay::cli {
namespace {

/// The length of the colour code, ESC [ digits m, at the beginning of `text`; 0: there is none.
std::size_t code_length(std::string_view text) {
  if (text.empty() || text.front() != '\x1b') return 0;
  return std::min(text.find('m'), text.size() - 1) + 1;
}

/// Whether a character begins with this byte of UTF-8.
bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

/// Where the first line of `text` ends.
std::size_t end_of_line(std::string_view text, std::size_t width, LongWords long_words) {
  std::size_t columns = 0, space = 0, mark = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t code = code_length(text.substr(i)); code > 0) {
      i += code;
      continue;
    }
    if (text[i] == ' ' && i > 0) space = i;
    if (begins_character(text[i]) && ++columns > width) {
      if (space > 0) return space;
      if (long_words == LongWords::broken) return std::max<std::size_t>(mark > 0 ? mark : i, 1);
    }
    const bool is_mark = std::string_view(",/:;=").find(text[i]) != std::string_view::npos;
    ++i;
    if (is_mark) mark = i;
  }
  return text.size();
}

/// The colour code that is active after `text`, if `before` was active before it.
std::string_view code_after(std::string_view text, std::string_view before) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t code = code_length(text.substr(i));
    if (code > 0) before = text.substr(i, code) == "\x1b[0m" ? "" : text.substr(i, code);
    i += std::max<std::size_t>(code, 1);
  }
  return before;
}

/// The column in which the text of a list item, "- one" or "1. one", begins; 0: it is no list item.
std::size_t item_indent(std::string_view line) {
  const std::size_t mark = line.find_first_not_of("0123456789");
  if (line.starts_with("- ")) return 2;
  return mark != 0 && mark < line.size() && line.substr(mark).starts_with(". ") ? mark + 2 : 0;
}

/// Wraps the meaning in a line "  name   what it means" under itself. Other lines, such as commands
/// with a remark far to the right, stay as they are.
std::string entry_lines(std::string_view line, std::size_t width) {
  const std::size_t gap = line.find("  ", std::min(line.find_first_not_of(' '), line.size()));
  const std::size_t meaning = line.find_first_not_of(' ', gap);
  if (gap == std::string_view::npos || meaning > width / 2) return std::string(line);
  return std::string(line.substr(0, meaning)) + wrapped(line.substr(meaning), meaning, width);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t code = code_length(text.substr(i));
    if (code == 0 && begins_character(text[i])) ++width;
    i += std::max<std::size_t>(code, 1);
  }
  return width;
}

std::string shorten(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  const std::size_t keep = width > 3 ? width - 3 : 0;
  std::string plain;
  for (std::size_t i = 0, columns = 0; i < text.size();) {
    if (const std::size_t code = code_length(text.substr(i)); code > 0) {
      i += code;
      continue;
    }
    if (begins_character(text[i]) && ++columns > keep) break;
    plain += text[i++];
  }
  return plain + std::string(std::min<std::size_t>(3, width), '.');
}

std::vector<std::string> lines_of(std::string_view text, std::size_t width, LongWords long_words) {
  std::vector<std::string> lines;
  std::string_view code;
  do {
    const std::string_view line = text.substr(0, end_of_line(text, width, long_words));
    const std::string_view after = code_after(line, code);
    lines.push_back(fmt::format("{}{}{}", code, line, after.empty() ? "" : "\x1b[0m"));
    code = after;
    text.remove_prefix(line.size());
    if (text.starts_with(' ')) text.remove_prefix(1);
  } while (!text.empty());
  return lines;
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  constexpr std::size_t narrowest = 16;
  if (width == 0) return std::string(text);
  const std::size_t room = std::max(width - std::min(width, indent), narrowest);
  return fmt::format(
      "{}", fmt::join(lines_of(text, room, LongWords::whole), "\n" + std::string(indent, ' ')));
}

std::string reflowed(std::string_view text, std::size_t width) {
  constexpr std::size_t as_written = 110;
  if (width == 0 || width >= as_written) return std::string(text);
  std::string shown, paragraph;
  std::size_t hanging = 0;  // indent of the lines after an item's first
  bool code = false;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) shown += wrapped(paragraph, hanging, width) + "\n";
    paragraph.clear();
    hanging = 0;
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool fence = line.starts_with("```");
    const bool indented = line.starts_with("  ");
    if (fence || code || line.empty() || (indented && hanging == 0)) {
      end_paragraph();
      shown += (code ? std::string(line) : entry_lines(line, width)) + "\n";
      code = code != fence;
      continue;
    }
    const std::size_t item = item_indent(line);
    if (item > 0 || line.front() == '#' || line.front() == '|') end_paragraph();
    if (item > 0) hanging = item;
    const std::string_view words = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    paragraph += (paragraph.empty() ? "" : " ") + std::string(words);
    if (line.front() == '#' || line.front() == '|') end_paragraph();
  }
  end_paragraph();
  return shown;
}

}  // namespace assay::cli
