#include "core/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "core/descriptor.h"
#include "core/secrets.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_line_bytes = std::size_t{64} << 20;
constexpr std::size_t tail_bytes = 4096;

/// The process groups of running programs; 0 marks a free slot. The array is fixed and lock-free,
/// because a signal handler reads it. A program that finds no slot runs unlisted.
std::array<std::atomic<pid_t>, 1024> program_groups = {};
static_assert(std::atomic<pid_t>::is_always_lock_free);

/// Keeps a group listed for its lifetime.
class ListedGroup {
 public:
  explicit ListedGroup(pid_t group) : group_(group) {
    for (std::atomic<pid_t>& place : program_groups) {
      pid_t free = 0;
      if (place.compare_exchange_strong(free, group)) return;
    }
  }
  ListedGroup(const ListedGroup&) = delete;
  ListedGroup& operator=(const ListedGroup&) = delete;
  ~ListedGroup() {
    for (std::atomic<pid_t>& place : program_groups) {
      pid_t own = group_;
      if (place.compare_exchange_strong(own, 0)) return;
    }
  }

 private:
  const pid_t group_;
};

/// Everything that the child needs is prepared before fork(). Between fork() and exec only
/// async-signal-safe calls are allowed, because another thread may have held the allocator's lock.
struct Prepared {
  std::string path;
  std::vector<std::string> words, environment;
  std::vector<char*> argv, envp;
  cpu_set_t cpus;
  bool set_cpus = false;
};

void prepare(const ProgramStart& program, const std::string& path, Prepared& prepared) {
  prepared.path = path;
  prepared.words = program.words;
  for (std::string& word : prepared.words) prepared.argv.push_back(word.data());
  prepared.argv.push_back(nullptr);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    if (std::none_of(program.variables.begin(), program.variables.end(),
                     [&](const auto& pair) { return pair.first == name; })) {
      prepared.environment.emplace_back(text);
    }
  }
  for (const auto& [name, value] : program.variables) {
    prepared.environment.push_back(fmt::format("{}={}", name, value));
  }
  for (std::string& pair : prepared.environment) prepared.envp.push_back(pair.data());
  prepared.envp.push_back(nullptr);
  CPU_ZERO(&prepared.cpus);
  for (const int cpu : program.cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &prepared.cpus);
    prepared.set_cpus = true;
  }
}

/// Why the program could not be started; the child sends this to its parent.
struct Failure {
  int error = 0;
  char what = 0;
};

[[noreturn]] void fail(int pipe, char what) {
  const Failure failure{errno, what};
  if (::write(pipe, &failure, sizeof(failure)) < 0) ::_exit(126);
  ::_exit(127);
}

/// Runs in the child: becomes the program, or writes to `report` why it cannot.
[[noreturn]] void become(const ProgramStart& program, Prepared& prepared, int input, int output,
                         int errors, int report, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent died before prctl() could take effect
  for (const std::string& group : program.control_groups) {
    const int file = ::open(group.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0 || ::write(file, "0", 1) != 1) fail(report, 'g');
    ::close(file);
  }
  if (prepared.set_cpus && ::sched_setaffinity(0, sizeof(prepared.cpus), &prepared.cpus) != 0) {
    fail(report, 'a');
  }
  if (program.address_space_bytes != 0) {
    const rlimit limit{program.address_space_bytes, program.address_space_bytes};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) fail(report, 'm');
  }
  ::dup2(input, 0);
  ::dup2(output, 1);
  ::dup2(errors, 2);
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &by_default, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(prepared.path.c_str(), prepared.argv.data(), prepared.envp.data());
  fail(report, 'x');
}

std::string text_of(const Failure& failure, const ProgramStart& program) {
  const char* cause = std::strerror(failure.error);
  switch (failure.what) {
    case 'g':
      return fmt::format("it cannot join {}: {}", fmt::join(program.control_groups, ", "), cause);
    case 'a':
      return fmt::format("its CPUs {} cannot be set: {}", fmt::join(program.cpus, ","), cause);
    case 'm':
      return fmt::format("its memory limit cannot be set: {}", cause);
    default:
      return cause;
  }
}

/// Splits output into whole lines.
class Lines {
 public:
  explicit Lines(const std::function<void(std::string_view)>& line) : line_(line) {}
  void add(std::string_view text) {
    if (!line_) return;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view part = text.substr(0, end);
      if (kept_.size() < most_line_bytes) kept_.append(part.substr(0, most_line_bytes));
      if (end == std::string_view::npos) return;
      line_(kept_);
      kept_.clear();
      text.remove_prefix(end + 1);
    }
  }
  void finish() {
    if (line_ && !kept_.empty()) line_(kept_);
  }

 private:
  const std::function<void(std::string_view)>& line_;
  std::string kept_;
};

/// Keeps the last `tail_bytes`, from the beginning of a line unless the last line alone is longer.
void keep_tail(std::string& tail) {
  if (tail.size() <= tail_bytes) return;
  tail.erase(0, tail.size() - tail_bytes);
  const std::size_t line = tail.find('\n');
  if (line != std::string::npos && line + 1 < tail.size()) tail.erase(0, line + 1);
}

/// The parent's side: reads both pipes until they close, and ends the group when necessary.
class Watch {
 public:
  Watch(const ProgramStart& program, pid_t child, int output, int errors)
      : program_(program),
        child_(child),
        output_(output),
        errors_(errors),
        grace_(std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(program.grace_seconds))),
        lines_(program.line),
        error_lines_(program.error_line) {}

  ProgramEnd run() {
    while (output_ >= 0 || errors_ >= 0) {
      pollfd files[2] = {{output_, POLLIN, 0}, {errors_, POLLIN, 0}};
      ::poll(files, 2, 100);  // ignores descriptors of -1
      if (files[0].revents != 0 && !read_output()) output_ = -1;
      if (files[1].revents != 0 && !read_errors()) errors_ = -1;
      decide();
      if (!exited_) exited_ = ::waitpid(child_, &status_, WNOHANG) == child_;
      // Processes that it left in its group must not hold the pipes open forever.
      if (exited_ && !end_) begin_end();
    }
    if (!exited_) wait();
    lines_.finish();
    error_lines_.finish();
    ::kill(-child_, SIGKILL);
    result_.errors_tail = hide_secrets_in(result_.errors_tail);
    result_.status = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
    return std::move(result_);
  }

 private:
  bool read_output() {
    const ssize_t got = ::read(output_, part_.data(), part_.size());
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    lines_.add({part_.data(), static_cast<std::size_t>(got)});
    return got > 0;
  }
  bool read_errors() {
    const ssize_t got = ::read(errors_, part_.data(), part_.size());
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    error_lines_.add({part_.data(), static_cast<std::size_t>(got)});
    result_.errors_tail.append(part_.data(), static_cast<std::size_t>(got));
    keep_tail(result_.errors_tail);
    return got > 0;
  }
  void begin_end() {
    ::kill(-child_, SIGTERM);
    end_ = Clock::now() + grace_;
  }
  void decide() {
    if (!end_) {
      result_.stopped = program_.stop_requested && program_.stop_requested();
      const std::chrono::duration<double> spent = Clock::now() - begin_;
      result_.timed_out = !result_.stopped && program_.timeout_seconds > 0 &&
                          spent.count() > program_.timeout_seconds;
      if (result_.stopped || result_.timed_out) begin_end();
    } else if (Clock::now() > *end_) {
      ::kill(-child_, SIGKILL);
      // Waiting would be endless for a process that left the group and still holds the pipes, or
      // that hangs in a driver and may never die.
      abandoned_ = Clock::now() > *end_ + grace_;
      if (abandoned_) output_ = errors_ = -1;
    }
  }
  /// Waits after the program has closed both outputs; it may still run, but not forever.
  void wait() {
    while (::waitpid(child_, &status_, WNOHANG) == 0) {
      decide();
      if (abandoned_) {
        status_ = SIGKILL;
        break;
      }
      ::poll(nullptr, 0, 20);
    }
    exited_ = true;
  }

  const ProgramStart& program_;
  const pid_t child_;
  int output_, errors_;
  const Clock::duration grace_;
  Lines lines_, error_lines_;
  const Clock::time_point begin_ = Clock::now();
  std::optional<Clock::time_point> end_;  // time at which SIGKILL follows
  bool exited_ = false, abandoned_ = false;
  int status_ = 0;
  ProgramEnd result_;
  std::vector<char> part_ = std::vector<char>(1 << 16);  // too large for a small stack
};

Error cannot_start(std::string_view name, std::string_view why) {
  return {ErrorKind::unavailable, fmt::format("cannot start {}: {}", name, why)};
}

Error cannot_start(const ProgramStart& program, std::string_view why) {
  return cannot_start(program.words.empty() ? "" : program.words.front(), why);
}

Error not_found(std::string_view name) {
  return cannot_start(name, name.find('/') == std::string_view::npos
                                ? "there is no such program in PATH"
                                : "there is no such executable file");
}

/// Opens the program's standard input. A text is kept in memory only, because a file would remain
/// if this process were killed.
Result<Descriptor> open_input(const ProgramStart& program) {
  const bool is_text = program.input_file.empty() && !program.input.empty();
  const std::string path = program.input_file.empty() ? "/dev/null" : program.input_file;
  Descriptor input(is_text ? ::memfd_create("input", MFD_CLOEXEC)
                           : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!input.is_open()) {
    return cannot_start(program, fmt::format("cannot read {}: {}", is_text ? "its input" : path,
                                             std::strerror(errno)));
  }
  for (std::string_view rest = program.input; is_text && !rest.empty();) {
    const ssize_t written = ::write(input.number(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot_start(program, std::strerror(errno));
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (is_text) ::lseek(input.number(), 0, SEEK_SET);
  return input;
}

}  // namespace

Result<ProgramEnd> run_program(const ProgramStart& program) {
  const std::string name = program.words.empty() ? "" : program.words.front();
  const auto path = find_program(name);
  if (!path) return not_found(name);
  Prepared prepared;
  prepare(program, *path, prepared);
  int output[2], errors[2], report[2];
  if (::pipe2(output, O_CLOEXEC) != 0) return cannot_start(program, std::strerror(errno));
  const Descriptor output_read(output[0]);
  Descriptor output_write(output[1]);
  if (::pipe2(errors, O_CLOEXEC) != 0) return cannot_start(program, std::strerror(errno));
  const Descriptor errors_read(errors[0]);
  Descriptor errors_write(errors[1]);
  if (::pipe2(report, O_CLOEXEC) != 0) return cannot_start(program, std::strerror(errno));
  const Descriptor report_read(report[0]);
  Descriptor report_write(report[1]);
  const Descriptor input = TRY(open_input(program));
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return cannot_start(program, std::strerror(errno));
  if (child == 0) {
    become(program, prepared, input.number(), output_write.number(), errors_write.number(),
           report_write.number(), parent);
  }
  ::setpgid(child, child);
  const ListedGroup listed(child);
  output_write.close();
  errors_write.close();
  report_write.close();
  Failure failure;
  ssize_t got = 0;
  while ((got = ::read(report_read.number(), &failure, sizeof(failure))) < 0 && errno == EINTR) {
  }
  if (got == sizeof(failure)) {
    ::waitpid(child, nullptr, 0);
    return cannot_start(program, text_of(failure, program));
  }
  return Watch(program, child, output_read.number(), errors_read.number()).run();
}

void kill_programs() {
  for (const std::atomic<pid_t>& group : program_groups) {
    if (const pid_t id = group.load(); id > 0) ::kill(-id, SIGKILL);
  }
}

std::optional<std::string> find_program(const std::string& name) {
  const auto can_run = [](const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
  };
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string::npos)
    return can_run(name) ? std::optional(name) : std::nullopt;
  const char* variable = std::getenv("PATH");
  std::string_view folders = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  while (!folders.empty()) {
    const std::size_t end = folders.find(':');
    const std::string path = fmt::format("{}/{}", folders.substr(0, end), name);
    if (end != 0 && can_run(path)) return path;
    folders.remove_prefix(end == std::string_view::npos ? folders.size() : end + 1);
  }
  return std::nullopt;
}

Status check_that_starts(const std::string& name) {
  return find_program(name) ? Status() : Status(not_found(name));
}

std::string last_line(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t last = text.find_last_not_of(blanks);
  if (last == std::string_view::npos) return {};
  text = text.substr(0, last + 1);
  const std::size_t newline = text.find_last_of("\r\n");
  if (newline != std::string_view::npos) text.remove_prefix(newline + 1);
  return std::string(text.substr(text.find_first_not_of(blanks)));
}

}  // namespace assay
