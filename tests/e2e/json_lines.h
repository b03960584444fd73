// JSON Lines, as commands print them with --json and stores hold them.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "core/json.h"

namespace assay {

/// One value per line; Json::value_t::discarded for a line that is not JSON.
inline std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(Json::parse(line, nullptr, false));
  }
  return lines;
}

}  // namespace assay
