// Whether disks have room for files, asked before the work that makes these files.
#pragma once

#include <filesystem>
#include <vector>

#include "core/result.h"

namespace assay {

/// A file or a folder that is still to be written.
struct PlannedFile {
  std::filesystem::path path;
  double bytes = 0;
};

/// Checks whether the disks have room for all of `files` beside what they hold now, because old
/// files are replaced only once new ones are written. Devices, pipes and file systems of unknown
/// size pass. Error: exhausted, naming a path, the room and the bytes of all that would be written
/// to its disk.
Status check_room(const std::vector<PlannedFile>& files);

}  // namespace assay
