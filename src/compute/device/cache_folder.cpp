#include "compute/device/cache_folder.h"

#include "core/environment_value.h"

namespace assay {

std::string cache_folder() {
  if (const std::string cache = environment_value("XDG_CACHE_HOME"); !cache.empty()) {
    return cache + "/assay";
  }
  if (const std::string home = environment_value("HOME"); !home.empty()) {
    return home + "/.cache/assay";
  }
  return {};
}

}  // namespace assay
