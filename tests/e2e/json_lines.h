// What commands print with --json and what stores hold.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "core/json.h"

namespace assay {

/// One value a line; Json::value_t::discarded for a line that is none.
inline std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(Json::parse(line, nullptr, false));
  }
  return lines;
}

}  // namespace assay
