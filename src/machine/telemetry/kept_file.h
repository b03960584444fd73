// A small kernel file that is read repeatedly. It is opened once; a reading takes one or a few
// system calls and no allocation.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

class KeptFile {
 public:
  /// If the file cannot be opened, every reading is empty or NaN.
  explicit KeptFile(const std::filesystem::path& path);
  ~KeptFile();
  KeptFile(KeptFile&& other) noexcept;
  KeptFile& operator=(KeptFile&& other) noexcept;

  /// Reads once from the start, up to 8 KiB (more after read_all() of a longer file): all of a
  /// sysfs file, but of a procfs file perhaps only the first page. Empty on failure. The result is
  /// valid until the next reading.
  std::string_view read_start();
  /// Reads all bytes, for procfs files of any length; those before a failure. The result is valid
  /// until the next reading.
  std::string_view read_all();
  /// Reads the number at the start of the file, times `unit`; NaN if there is none.
  double read_number(double unit = 1);

 private:
  int file_ = -1;
  std::string buffer_;
};

/// Returns the decimal number at the start of `text`, after white space and ":"; NaN if there is
/// none.
double leading_number(std::string_view text);
/// Returns the number after `key` and white space or ":" at the start of a line; NaN if there is no
/// such line or no number.
double number_after(std::string_view text, std::string_view key);

}  // namespace assay
