#include "core/own_binary.h"

#include <filesystem>

namespace assay {

Result<std::string> own_binary() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Error{ErrorKind::failed, "cannot find assay's own file: " + error.message()};
  return path.string();
}

}  // namespace assay
