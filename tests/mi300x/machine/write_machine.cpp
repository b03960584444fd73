// virtual_machine FOLDER: writes the virtual machine's files, links and device file locations,
// which scripts/virtual-mi300x mounts over the real ones.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "machine/virtual_machine.h"

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  if (!(std::ofstream(path, std::ios::binary) << text).flush()) {
    throw std::runtime_error("cannot write " + path.string());
  }
}

void write_all(const assay::MemoryMachine& machine, const fs::path& folder) {
  for (const auto& [path, file] : machine.files()) {
    if (file.state == assay::FileState::found) write(folder / path, file.text);
  }
  for (const auto& [path, target] : machine.links()) {
    fs::create_directories((folder / path).parent_path());
    fs::create_symlink("/" + target, folder / path);
  }
  for (const auto& [path, state] : machine.devices()) write(folder / path, "");
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", words[0]);
    return 2;
  }
  try {
    const auto cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
    const auto runtime = mi300x::runtime::Machine::from_environment();
    write_all(mi300x::virtual_machine(runtime, cpus), words[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", words[0], error.what());
    return 1;
  }
  return 0;
}
