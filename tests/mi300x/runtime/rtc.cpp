// hipRTC's interface, implemented with clang.
#include <fcntl.h>
#include <fmt/format.h>
#include <hip/hiprtc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "runtime/misbehaviour.h"
#include "runtime/runtime.h"

struct _hiprtcProgram {
  std::string name, source;
  std::vector<std::pair<std::string, std::string>> headers;  // name, text
  std::string log, code;
};

namespace {

namespace fs = std::filesystem;

/// A temporary folder, removed with its owner.
class WorkFolder {
 public:
  WorkFolder() {
    std::string pattern = fs::temp_directory_path() / "mi300x-rtc-XXXXXX";
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Runs a command in `folder`, with output to the file "log" there. Returns the exit status, -1 for
/// a crash.
int run(const std::vector<std::string>& words, const fs::path& folder) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  const std::string log = folder / "log", place = folder;
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) {
    const int file = ::open(log.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    ::dup2(file, 1);
    ::dup2(file, 2);
    if (::chdir(place.c_str()) == 0) ::execvp(pointers[0], pointers.data());
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string after(const std::string& text, const std::string& prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : std::string();
}

/// Returns the command line that makes clang behave like hipRTC. The program's options are passed
/// on unchanged, except that the one for the architecture has another name. ASSAY_COMPILER_LAUNCHER
/// may name a program that runs compilers, such as ccache.
std::vector<std::string> compiler_words(const std::string& arch,
                                        const std::vector<std::string>& options,
                                        const std::string& source) {
  std::vector<std::string> words;
  if (const char* launcher = std::getenv("ASSAY_COMPILER_LAUNCHER")) words.emplace_back(launcher);
  words.insert(words.end(),
               {"clang++-19", "-x", "hip", "--offload-device-only", "--offload-arch=" + arch,
                "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "-std=c++17", "-O3",
                "-gline-tables-only", "-D__HIPCC_RTC__", "-D__HIP_PLATFORM_AMD__", "-include",
                MI300X_RTC_BUILTINS, "-I."});
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"-c", source, "-o", "code"});
  return words;
}

hiprtcResult compile(_hiprtcProgram& program, const std::vector<std::string>& given) {
  std::string arch = "gfx942";  // architecture of the current device
  std::vector<std::string> options;
  for (const std::string& option : given) {
    std::string named = after(option, "--gpu-architecture=");
    if (named.empty()) named = after(option, "--offload-arch=");
    if (named.empty()) {
      options.push_back(option);
    } else {
      arch = named;
    }
  }
  if (mi300x::runtime::misbehave(arch, program.code)) return HIPRTC_SUCCESS;
  const WorkFolder folder;
  if (folder.path().empty()) return HIPRTC_ERROR_PROGRAM_CREATION_FAILURE;
  const std::string source = fs::path(program.name).filename();
  write(folder.path() / source, program.source);
  for (const auto& [name, text] : program.headers) write(folder.path() / name, text);
  const int status = run(compiler_words(arch, options, source), folder.path());
  program.log = read(folder.path() / "log");
  if (status != 0) return HIPRTC_ERROR_COMPILATION;
  program.code = read(folder.path() / "code");
  return HIPRTC_SUCCESS;
}

}  // namespace

extern "C" {

hiprtcResult hiprtcVersion(int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return HIPRTC_ERROR_INVALID_INPUT;
  *major = mi300x::runtime::hip_release;
  *minor = 2;
  return HIPRTC_SUCCESS;
}

const char* hiprtcGetErrorString(hiprtcResult result) {
  switch (result) {
    case HIPRTC_SUCCESS:
      return "HIPRTC_SUCCESS";
    case HIPRTC_ERROR_INVALID_INPUT:
      return "HIPRTC_ERROR_INVALID_INPUT";
    case HIPRTC_ERROR_INVALID_PROGRAM:
      return "HIPRTC_ERROR_INVALID_PROGRAM";
    case HIPRTC_ERROR_COMPILATION:
      return "HIPRTC_ERROR_COMPILATION";
    case HIPRTC_ERROR_PROGRAM_CREATION_FAILURE:
      return "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE";
    default:
      return "HIPRTC_ERROR_INTERNAL_ERROR";
  }
}

hiprtcResult hiprtcCreateProgram(hiprtcProgram* program, const char* source, const char* name,
                                 int headers, const char** texts, const char** names) {
  const bool named = headers == 0 || (texts != nullptr && names != nullptr);
  if (program == nullptr || source == nullptr || headers < 0 || !named) {
    return HIPRTC_ERROR_INVALID_INPUT;
  }
  *program = new _hiprtcProgram;
  (*program)->name = name != nullptr ? name : "program.hip";
  (*program)->source = source;
  for (int i = 0; i < headers; ++i) (*program)->headers.emplace_back(names[i], texts[i]);
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int count, const char** options) {
  if (program == nullptr) return HIPRTC_ERROR_INVALID_PROGRAM;
  if (count < 0 || (count > 0 && options == nullptr)) return HIPRTC_ERROR_INVALID_INPUT;
  return compile(*program, {options, options + count});
}

hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, size_t* bytes) {
  if (program == nullptr) return HIPRTC_ERROR_INVALID_PROGRAM;
  *bytes = program->log.size() + 1;
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char* log) {
  if (program == nullptr) return HIPRTC_ERROR_INVALID_PROGRAM;
  program->log.copy(log, program->log.size());
  log[program->log.size()] = '\0';
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t* bytes) {
  if (program == nullptr) return HIPRTC_ERROR_INVALID_PROGRAM;
  *bytes = program->code.size();
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcGetCode(hiprtcProgram program, char* code) {
  if (program == nullptr) return HIPRTC_ERROR_INVALID_PROGRAM;
  program->code.copy(code, program->code.size());
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcDestroyProgram(hiprtcProgram* program) {
  if (program == nullptr || *program == nullptr) return HIPRTC_ERROR_INVALID_PROGRAM;
  delete *program;
  *program = nullptr;
  return HIPRTC_SUCCESS;
}

}  // extern "C"
