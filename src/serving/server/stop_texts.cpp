#include "serving/server/stop_texts.h"

#include <algorithm>

namespace assay::server {

bool StopTexts::take(std::string_view piece, bool may_end, std::string& out) {
  kept_ += piece;
  const std::string_view text = kept_;
  std::size_t found = std::string_view::npos, beginning = 0;
  for (const std::string_view stop : stops_) {
    found = std::min(found, text.find(stop));
    std::size_t length = std::min(stop.size() - 1, text.size());
    while (!text.ends_with(stop.substr(0, length))) --length;
    beginning = std::max(beginning, length);
  }
  if (may_end && found != std::string_view::npos) {
    out += text.substr(0, found);
    kept_.clear();
    return true;
  }
  out += text.substr(0, text.size() - beginning);
  kept_.erase(0, text.size() - beginning);
  return false;
}

void StopTexts::end(std::string& out) {
  out += kept_;
  kept_.clear();
}

}  // namespace assay::server
