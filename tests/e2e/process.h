// The assay binary as a child process: its output, its exit status, and signals to it.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "support/temporary_folder.h"

namespace assay {

struct Outcome {
  int status = -1;         ///< exit status, or 128 + the signal that ended it
  double cpu_seconds = 0;  ///< of the process and the children it waited for
  std::string out, err;
};

class Process {
 public:
  using Environment = std::map<std::string, std::string>;

  /// Runs in a folder of its own, with the fake backend scripted by ASSAY_FAKE unless `environment`
  /// says otherwise. `out` may name a file for standard output, e.g. /dev/full.
  explicit Process(const std::vector<std::string>& arguments, Environment environment = {},
                   const std::string& out = "", const std::string& program = ASSAY_BINARY) {
    environment.try_emplace("ASSAY_FAKE", "");
    const char* path = std::getenv("PATH");
    environment.try_emplace("PATH", path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
    environment.try_emplace("HOME", folder_.path());
    environment.try_emplace("XDG_CACHE_HOME", folder_.path() / "cache");
    for (const char* inherited : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS",
                                  "ASSAY_COMPILER_LAUNCHER", "CCACHE_DIR", "CCACHE_NOHASHDIR"}) {
      if (const char* value = std::getenv(inherited)) environment.try_emplace(inherited, value);
    }
    std::vector<std::string> words = {program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv, envp;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::vector<std::string> pairs;
    for (const auto& [name, value] : environment) pairs.push_back(name + "=" + value);
    for (std::string& pair : pairs) envp.push_back(pair.data());
    envp.push_back(nullptr);
    out_ = out.empty() ? (folder_.path() / "out").string() : out;
    err_ = folder_.path() / "err";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, folder_.path().c_str());
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, out_.c_str(), O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, err_.c_str(), O_WRONLY | O_CREAT, 0600);
    // Whoever runs the tests may ignore signals: nohup ignores SIGHUP, and assay then leaves it so.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t ends;
    sigemptyset(&ends);
    for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) sigaddset(&ends, number);
    posix_spawnattr_setsigdefault(&attributes, &ends);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    if (posix_spawn(&pid_, words[0].c_str(), &actions, &attributes, argv.data(), envp.data()) !=
        0) {
      pid_ = -1;
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Process() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Outcome wait() {
    int status = 0;
    rusage usage = {};
    if (pid_ > 0) ::wait4(pid_, &status, 0, &usage);
    const bool started = pid_ > 0;
    pid_ = -1;
    return {!started            ? -1
            : WIFEXITED(status) ? WEXITSTATUS(status)
                                : 128 + WTERMSIG(status),
            seconds(usage.ru_utime) + seconds(usage.ru_stime), read(out_), read(err_)};
  }
  void signal(int number) const { ::kill(pid_, number); }
  pid_t id() const { return pid_; }

  /// Waits until the process has taken all signals sent to it: the kernel merges equal ones.
  void wait_for_pending_signals() const {
    const std::string path = "/proc/" + std::to_string(pid_) + "/status";
    for (int i = 0; i < 6000; ++i) {
      std::ifstream file(path);
      bool pending = false;
      for (std::string line; std::getline(file, line);) {
        const bool lists = line.starts_with("SigPnd:") || line.starts_with("ShdPnd:");
        pending = pending || (lists && line.find_first_not_of("\t0", 7) != std::string::npos);
      }
      if (!pending) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  /// What it has written to standard error.
  std::string error_text() const { return read(err_); }

  /// Waits until standard error holds `text`; false after 60 s, or if it has ended without.
  bool wait_for_error_text(std::string_view text) const {
    for (int i = 0; i < 6000; ++i) {
      siginfo_t ended = {};
      ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT);
      if (error_text().find(text) != std::string::npos) return true;
      if (ended.si_pid != 0) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  const std::filesystem::path& folder() const { return folder_.path(); }

  static std::string read(const std::filesystem::path& path) {
    if (!std::filesystem::is_regular_file(path)) return {};
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

 private:
  static double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  }

  TemporaryFolder folder_;
  std::string out_, err_;
  pid_t pid_ = -1;
};

/// Runs `assay ARGUMENTS...` to its end.
inline Outcome assay_run(const std::vector<std::string>& arguments,
                         Process::Environment environment = {}, const std::string& out = "") {
  return Process(arguments, std::move(environment), out).wait();
}

}  // namespace assay
