#include "compute/device/kernel_cache.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "compute/device/cache_folder.h"
#include "core/hash.h"
#include "core/read_file.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "assay kernel 1\n";

/// The header before the code: format, hash of the code, end of line.
std::string header_of(std::string_view code) {
  return std::string(magic) + sha256_hex(code) + "\n";
}

}  // namespace

KernelCache KernelCache::of_user() {
  const std::string folder = cache_folder();
  return KernelCache(folder.empty() ? fs::path() : fs::path(folder) / "kernels");
}

std::optional<std::string> KernelCache::load(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  const std::optional<std::string> text = read_file(folder_ / key);
  const std::size_t header_bytes = header_of("").size();
  if (!text || text->size() <= header_bytes) return std::nullopt;
  const std::string_view code = std::string_view(*text).substr(header_bytes);
  if (text->compare(0, header_bytes, header_of(code)) != 0) return std::nullopt;
  return std::string(code);
}

void KernelCache::store(std::string_view key, std::string_view code) const {
  if (folder_.empty()) return;
  std::error_code failed;
  fs::create_directories(folder_, failed);
  std::string temporary = folder_ / fmt::format("{}.XXXXXX", key);
  const int descriptor = ::mkstemp(temporary.data());
  if (descriptor < 0) return;
  ::close(descriptor);
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << header_of(code) << code;
  file.close();
  if (!file || ::rename(temporary.c_str(), (folder_ / key).c_str()) != 0) {
    ::unlink(temporary.c_str());
  }
}

}  // namespace assay
