#include "core/disk_room.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <system_error>

#include "core/units.h"

namespace assay {

namespace fs = std::filesystem;
namespace {

/// The folder in which `path` lies or will lie, or the nearest one above that exists.
fs::path existing_folder(const fs::path& path) {
  std::error_code ignored;
  fs::path folder = fs::absolute(path, ignored);
  while (!fs::is_directory(folder, ignored) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

}  // namespace

Status check_room(const std::vector<PlannedFile>& files) {
  struct Disk {
    dev_t number = 0;
    double bytes = 0;  // to be written
  };
  std::vector<Disk> disks;
  for (const PlannedFile& file : files) {
    std::error_code error;
    if (fs::exists(file.path, error) && fs::is_other(file.path, error)) continue;
    const fs::path folder = existing_folder(file.path);
    struct stat facts = {};
    if (::stat(folder.c_str(), &facts) != 0) continue;  // whoever writes there reports why
    auto disk = std::ranges::find(disks, facts.st_dev, &Disk::number);
    if (disk == disks.end()) disk = disks.insert(disk, Disk{facts.st_dev, 0});
    disk->bytes += file.bytes;
    const auto space = fs::space(folder, error);
    // File systems in user space may not tell their size.
    const bool is_unknown = error || space.capacity == 0;
    if (is_unknown || static_cast<double>(space.available) >= disk->bytes) continue;
    constexpr double most = 0x1p63;  // beyond it format_memory() has no number
    return Error{
        ErrorKind::exhausted,
        fmt::format("{}: the disk has room for {}, and {} would be written to it; make "
                    "room, or choose a path on another disk",
                    file.path.string(), format_memory(space.available),
                    format_memory(static_cast<std::uint64_t>(std::min(disk->bytes, most))))};
  }
  return {};
}

}  // namespace assay
