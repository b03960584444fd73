// Compiled code objects kept on disk between runs. The cache only saves time: every problem with it
// (no folder, no permission, a damaged file) counts as a miss.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

class KernelCache {
 public:
  /// An empty folder switches the cache off.
  explicit KernelCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  /// Uses the folder "kernels" in cache_folder(); off if that is empty.
  static KernelCache of_user();

  /// The code stored under `key` (a hash in hexadecimal); empty if there is none or it is damaged.
  std::optional<std::string> load(std::string_view key) const;
  /// Replaces the entry atomically: a reader sees the old or the new code, never a part.
  void store(std::string_view key, std::string_view code) const;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace assay
