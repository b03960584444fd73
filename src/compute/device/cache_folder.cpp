#include "compute/device/cache_folder.h"

#include <cstdlib>

namespace assay {

std::string cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::string(cache) + "/assay";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return std::string(home) + "/.cache/assay";
  }
  return {};
}

}  // namespace assay
