#include "compile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace mi300x {
namespace {

namespace fs = std::filesystem;

constexpr const char* keywords = R"(
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#line 1 "kernel.hip"
)";

/// A temporary folder, removed with its owner.
class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "mi300x-XXXXXX").string()) {
    if (!mkdtemp(path_.data())) throw std::runtime_error("no temporary folder");
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

/// Runs clang++-19, through ASSAY_COMPILER_LAUNCHER if that names a program such as ccache, and
/// returns its output.
std::string clang(const Folder& folder, const std::string& arguments) {
  const std::string log = folder.file("log"), out = folder.file("out");
  const char* launcher = std::getenv("ASSAY_COMPILER_LAUNCHER");
  const std::string command = fmt::format("{} clang++-19 {} -o {} 2>{}",
                                          launcher != nullptr ? launcher : "", arguments, out, log);
  if (std::system(command.c_str()) != 0) throw std::runtime_error(command + "\n" + read(log));
  return read(out);
}

std::string clang_hip(const std::string& hip, const std::string& arch, const char* output) {
  const Folder folder;
  const std::string source = folder.file("kernel.hip");
  std::ofstream(source) << keywords << hip;
  return clang(folder, fmt::format("-x hip --offload-device-only --offload-arch={} "
                                   "--no-gpu-bundle-output -nogpulib -nogpuinc -std=c++17 -O3 "
                                   "-gline-tables-only {} {}",
                                   arch, output, source));
}

}  // namespace

std::string no_compiler() {
  static const bool present = std::system("clang++-19 --version >/dev/null 2>&1") == 0;
  return present ? "" : "clang++-19 is not installed";
}

std::string compile(const std::string& hip, const std::string& arch) {
  return clang_hip(hip, arch, "-c");
}

std::string to_assembly(const std::string& hip, const std::string& arch) {
  return clang_hip(hip, arch, "-S");
}

std::string assemble(const std::string& assembly, const std::string& arch) {
  const Folder folder;
  const std::string source = folder.file("kernel.s");
  std::ofstream(source) << assembly;
  return clang(folder,
               fmt::format("-x assembler -target amdgcn-amd-amdhsa -mcpu={} {}", arch, source));
}

std::string compile_file(const std::string& path, const std::string& arch,
                         const std::string& flags) {
  const Folder folder;
  return clang(folder, fmt::format("-x hip --offload-device-only --offload-arch={} "
                                   "--no-gpu-bundle-output -nogpulib -nogpuinc -std=c++17 -O3 "
                                   "-gline-tables-only {} -c {}",
                                   arch, flags, path));
}

}  // namespace mi300x
