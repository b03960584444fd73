#include "machine/telemetry/kept_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <limits>
#include <utility>

namespace assay {
namespace {

constexpr std::size_t first_bytes = 1 << 13;  // most sysfs files fit in a page, gpu_metrics in two
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr const char* blanks = " \t\n:";

}  // namespace

KeptFile::KeptFile(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_ >= 0) buffer_.resize(first_bytes);
}

KeptFile::~KeptFile() {
  if (file_ >= 0) ::close(file_);
}

KeptFile::KeptFile(KeptFile&& other) noexcept
    : file_(std::exchange(other.file_, -1)), buffer_(std::move(other.buffer_)) {}

KeptFile& KeptFile::operator=(KeptFile&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

std::string_view KeptFile::read_start() {
  if (file_ < 0) return {};
  // A second read to find the end would make a driver query its firmware again.
  const ssize_t got = ::pread(file_, buffer_.data(), buffer_.size(), 0);
  return got > 0 ? std::string_view(buffer_.data(), static_cast<std::size_t>(got))
                 : std::string_view();
}

std::string_view KeptFile::read_all() {
  if (file_ < 0) return {};
  std::size_t size = 0;
  for (;;) {
    if (size == buffer_.size()) buffer_.resize(2 * size);
    const ssize_t got =
        ::pread(file_, buffer_.data() + size, buffer_.size() - size, static_cast<off_t>(size));
    if (got <= 0) return std::string_view(buffer_).substr(0, size);
    size += static_cast<std::size_t>(got);
  }
}

double KeptFile::read_number(double unit) {
  return leading_number(read_start()) * unit;
}

double leading_number(std::string_view text) {
  const std::size_t start = text.find_first_not_of(blanks);
  if (start == std::string_view::npos) return nan;
  double value = 0;
  const auto result = std::from_chars(text.data() + start, text.data() + text.size(), value);
  return result.ec == std::errc() ? value : nan;
}

double number_after(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    if (text.substr(0, key.size()) == key && text.size() > key.size() &&
        std::string_view(blanks).find(text[key.size()]) != std::string_view::npos) {
      return leading_number(text.substr(key.size()));
    }
    const std::size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return nan;
}

}  // namespace assay
