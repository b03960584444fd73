#include "cli/cell_names.h"

#include <fmt/format.h>

#include "cli/screen_text.h"

namespace assay::cli {

std::string heading_text(const std::vector<std::string>& lines, std::size_t width,
                         std::size_t indent) {
  std::string text;
  for (const std::string& line : lines) {
    text += fmt::format("{:{}}{}\n", "", indent, wrapped(line, indent + 2, width));
  }
  return text;
}

}  // namespace assay::cli
