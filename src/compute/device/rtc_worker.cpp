#include "compute/device/rtc_worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "compute/device/rtc_compiler.h"
#include "core/child_process.h"
#include "core/descriptor.h"

namespace assay {
namespace {

constexpr const char* worker_argument = "--assay-rtc-worker";
constexpr std::uint64_t message_limit = 1 << 28;  // bytes; far above any kernel, rejects garbage

using Clock = std::chrono::steady_clock;

/// Waits until `socket` can be read or written; returns false once `deadline` has passed.
bool wait_for(int socket, short events, Clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{socket, events, 0};
    const int step = static_cast<int>(std::min<long long>(left, 60'000));
    if (::poll(&waiting, 1, step) > 0) return true;
  }
}

bool send_all(int socket, std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    if (!wait_for(socket, POLLOUT, deadline)) return false;
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EINTR && errno != EAGAIN) {
      return false;
    }
  }
  return true;
}

bool receive_all(int socket, char* bytes, std::size_t count, Clock::time_point deadline) {
  while (count > 0) {
    if (!wait_for(socket, POLLIN, deadline)) return false;
    const ssize_t got = ::recv(socket, bytes, count, MSG_DONTWAIT);
    if (got > 0) {
      bytes += got;
      count -= static_cast<std::size_t>(got);
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      return false;
    }
  }
  return true;
}

/// Sends one message: its length in 8 bytes, then the text.
bool send_text(int socket, std::string_view text, Clock::time_point deadline) {
  const std::uint64_t bytes = text.size();
  char length[sizeof(bytes)];
  std::memcpy(length, &bytes, sizeof(bytes));
  return send_all(socket, {length, sizeof(length)}, deadline) && send_all(socket, text, deadline);
}

std::optional<std::string> receive_text(int socket, Clock::time_point deadline) {
  std::uint64_t bytes = 0;
  char length[sizeof(bytes)];
  if (!receive_all(socket, length, sizeof(length), deadline)) return std::nullopt;
  std::memcpy(&bytes, length, sizeof(bytes));
  if (bytes > message_limit) return std::nullopt;
  std::string text(bytes, '\0');
  if (!receive_all(socket, text.data(), text.size(), deadline)) return std::nullopt;
  return text;
}

bool send_request(int socket, const CompileRequest& request, Clock::time_point deadline) {
  bool sent = true;
  for (const std::string* text :
       {&request.library, &request.vendor, &request.name, &request.source}) {
    sent = sent && send_text(socket, *text, deadline);
  }
  for (const std::string& option : request.options) {
    sent = sent && send_text(socket, option, deadline);
  }
  return sent && ::shutdown(socket, SHUT_WR) == 0;
}

/// Returns the last line of the child's standard output and error, which go to a file in memory.
std::string last_words(int file) {
  const off_t size = ::lseek(file, 0, SEEK_END);
  const off_t start = std::max<off_t>(0, size - 4096);
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, size - start)), '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), start);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  text.erase(text.find_last_not_of(" \n\r\t") + 1);
  return text.substr(text.rfind('\n') + 1);  // npos + 1 == 0: the only line
}

/// Starts this executable as a worker that communicates over `socket`. Returns its process id, or
/// the negated errno.
pid_t start_worker(int socket, int output) {
  return start_child("/proc/self/exe", {"assay", worker_argument, std::to_string(::getpid())},
                     {output, output, socket});
}

/// Waits until `child` has ended, at most until `deadline`; returns empty if it has not.
std::optional<int> wait_for_end(pid_t child, Clock::time_point deadline) {
  while (true) {
    int status = 0;
    const pid_t waited = ::waitpid(child, &status, WNOHANG);
    if (waited == child) return status;
    if (waited < 0 && errno != EINTR) return 0;  // SIGCHLD is ignored: status lost
    if (Clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

/// Describes how a worker that gave no answer ended, as the middle of a sentence.
std::string ending_of(std::optional<int> wait_status) {
  if (!wait_status) return "gave an invalid answer";
  if (WIFSIGNALED(*wait_status)) {
    const int number = WTERMSIG(*wait_status);
    return fmt::format("crashed with signal {} ({})", number, ::strsignal(number));
  }
  return fmt::format("ended with status {} and no answer", WEXITSTATUS(*wait_status));
}

}  // namespace

Result<std::string> compile_in_child(const CompileRequest& request) {
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(request.timeout_seconds));
  const auto cannot_start = [&](int number) {
    return Error{ErrorKind::unavailable, fmt::format("cannot start a compiler process for {}: {}",
                                                     request.name, ::strerror(number))};
  };
  // Use numbers above child_conversation, so that duplicating one to that number overwrites
  // nothing.
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return cannot_start(errno);
  const Descriptor ours(ends[0]);
  Descriptor theirs(::fcntl(ends[1], F_DUPFD_CLOEXEC, child_conversation + 1));
  ::close(ends[1]);
  const Descriptor file(::memfd_create("assay-rtc-output", MFD_CLOEXEC));
  const Descriptor output(::fcntl(file.number(), F_DUPFD_CLOEXEC, child_conversation + 1));
  if (theirs.number() < 0 || output.number() < 0) return cannot_start(errno);
  const pid_t child = start_worker(theirs.number(), output.number());
  if (child < 0) return cannot_start(-child);
  theirs.close();

  std::optional<std::string> verdict, text;
  if (send_request(ours.number(), request, deadline)) {
    verdict = receive_text(ours.number(), deadline);
    if (verdict) text = receive_text(ours.number(), deadline);
  }
  const bool late = Clock::now() >= deadline;
  // A worker that sent no answer is about to end by itself, so wait to learn how.
  std::optional<int> ended;
  if (!text && !late) ended = wait_for_end(child, Clock::now() + std::chrono::seconds(2));
  if (!ended) {
    ::kill(child, SIGKILL);
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (text && *verdict == "ok") return std::move(*text);
  if (text) return Error{ErrorKind::failed, std::move(*text)};

  const RtcVendor* vendor = find_rtc_vendor(request.vendor);
  const std::string words = last_words(output.number());
  return Error{
      ErrorKind::failed,
      fmt::format(
          "{} ({}) {} compiling {} with {}{}{}",
          vendor != nullptr ? vendor->display : request.vendor, request.library,
          late ? fmt::format("did not end within {} s", request.timeout_seconds) : ending_of(ended),
          request.name, fmt::join(request.options, " "), words.empty() ? "" : ": ", words)};
}

std::optional<int> run_as_rtc_worker(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], worker_argument) != 0) return std::nullopt;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::to_string(::getppid()) != argv[2]) return 1;  // the parent has ended already
  const rlimit no_core_dump{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core_dump);

  const auto never = Clock::time_point::max() - std::chrono::hours(24);
  CompileRequest request;
  for (std::string* field : {&request.library, &request.vendor, &request.name, &request.source}) {
    std::optional<std::string> text = receive_text(child_conversation, never);
    if (!text) return 1;
    *field = std::move(*text);
  }
  while (std::optional<std::string> option = receive_text(child_conversation, never)) {
    request.options.push_back(std::move(*option));
  }
  const Result<std::string> code = rtc_compile(request);
  const bool sent =
      send_text(child_conversation, code.ok() ? "ok" : "error", never) &&
      send_text(child_conversation, code.ok() ? code.value() : code.error().message, never);
  // exit() is avoided: a compiler's own destructors have crashed at this point.
  ::_exit(sent ? 0 : 1);
}

}  // namespace assay
