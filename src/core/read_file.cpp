#include "core/read_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "core/input_file.h"

namespace assay {

FileBytes read_bytes(const std::filesystem::path& path, std::size_t most) {
  InputFile file;
  FileBytes result;
  result.error = file.open(path);
  // A file that reports its size costs neither time nor memory beyond the limit.
  if (result.error == 0 && file.size() > most) result.error = EFBIG;
  if (result.error == 0) result.text.reserve(file.size());
  char part[1 << 14];
  for (std::size_t got = 1; result.error == 0 && got > 0;) {
    result.error = file.read(part, got);
    result.text.append(part, got);
    if (result.text.size() > most) result.error = EFBIG;
  }
  if (result.error != 0) result.text.clear();
  return result;
}

std::optional<std::string> read_file(const std::filesystem::path& path) {
  constexpr std::size_t most = std::size_t{4} << 30;
  FileBytes bytes = read_bytes(path, most);
  if (bytes.error != 0) return std::nullopt;
  return std::move(bytes.text);
}

std::string start_of_file(const std::filesystem::path& path, std::size_t bytes) {
  InputFile file;
  std::string start;
  if (file.open(path) != 0 || file.size() == 0) return start;
  start.resize(std::min(bytes, file.size()));
  std::size_t got = 0;
  if (file.read(start, got) != 0) got = 0;
  start.resize(got);
  return start;
}

Result<std::string> read_operand(const std::filesystem::path& path, std::size_t most) {
  FileBytes bytes = read_bytes(path, most);
  if (bytes.error == 0) return std::move(bytes.text);
  if (bytes.error != EFBIG) return unreadable(path, bytes.error);
  return Error{ErrorKind::usage,
               fmt::format("cannot read {}: it holds more than {} MiB", path.string(), most >> 20)};
}

}  // namespace assay
