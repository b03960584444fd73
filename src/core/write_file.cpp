#include "core/write_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace assay {

namespace fs = std::filesystem;
namespace {

constexpr std::string_view ending = ".part";

}  // namespace

Status write_file(const fs::path& path, std::string_view text) {
  std::error_code error;
  const bool in_place = fs::exists(path, error) && fs::is_other(path, error);
  const fs::path part =
      in_place ? path : fs::path(path.string() + fmt::format(".{}{}", ::getpid(), ending));
  const auto failure = [&](const char* what, int code) {
    std::error_code ignored;
    if (!in_place) fs::remove(part, ignored);
    return Error{ErrorKind::exhausted,
                 fmt::format("{} cannot be {}: {}", path.string(), what, std::strerror(code))};
  };
  errno = 0;
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  if (!file) return failure("written", errno);
  file << text;
  file.close();
  if (!file) return failure("written", errno);
  if (in_place) return {};
  fs::rename(part, path, error);
  if (error) return failure("replaced", error.value());
  return {};
}

bool is_unfinished(std::string_view name, std::string_view of) {
  return name.starts_with(of) && name.substr(of.size()).starts_with('.') && name.ends_with(ending);
}

}  // namespace assay
