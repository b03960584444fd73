#include "core/own_binary.h"

#include <sys/auxv.h>

#include <filesystem>

#include "core/environment_value.h"

namespace assay {

Result<std::string> own_binary() {
  std::error_code error;
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto* started_as = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  // Without /proc, use the path with which the program was executed. A relative one is valid only
  // while the process is still in the folder in which it was started.
  if (error && started_as != nullptr) path = std::filesystem::canonical(started_as, error);
  if (error) return Error{ErrorKind::failed, "cannot find assay's own file: " + error.message()};
  return path.string();
}

std::string own_command() {
  const std::string command = environment_value("ASSAY_COMMAND");
  return command.empty() ? "assay" : command;
}

}  // namespace assay
