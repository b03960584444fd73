// The processes of ranks that a process has started.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "e2e/process.h"

namespace assay {

/// The process id of a rank that `parent` started, once it measures; 0 if none is found in 30 s.
inline pid_t process_of_rank(const Process& parent, int rank) {
  const std::string mark = "ASSAY_RANK=" + std::to_string(rank);
  const std::string folder = parent.folder();
  for (int i = 0; i < 3000; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::ifstream file(entry.path() / "environ", std::ios::binary);
      const std::string variables(std::istreambuf_iterator<char>(file), {});
      // Several tests may run at once; the folder identifies the rank of this one.
      if (variables.find(mark + '\0') != std::string::npos &&
          variables.find(folder) != std::string::npos) {
        return static_cast<pid_t>(std::stol(name));
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return 0;
}

}  // namespace assay
