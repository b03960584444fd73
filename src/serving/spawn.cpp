#include "serving/spawn.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <thread>

#include "core/background_program.h"
#include "core/descriptor.h"
#include "core/file_error.h"
#include "core/mutex.h"
#include "core/own_binary.h"
#include "core/program.h"
#include "core/secrets.h"
#include "core/shown_text.h"
#include "core/text.h"
#include "core/write_file.h"
#include "serving/client/endpoint.h"
#include "serving/client/http_call.h"

namespace assay {
namespace {

constexpr std::string_view own_name = "assay";  // means this binary
constexpr double grace_seconds = 10;            // engines free GPU memory before they exit
constexpr double reply_seconds = 2;
constexpr auto between_questions = std::chrono::milliseconds(50);
constexpr std::size_t most_shown = 200;  // characters of a line of output
constexpr std::uint64_t most_constant = 1'000'000;
constexpr std::int64_t most_value = 1'000'000'000'000;
constexpr int http_ok = 200, http_not_found = 404;

using Held = std::vector<std::unique_ptr<Descriptor>>;

/// Binds a socket to `port`, 0: any free one, and keeps it in `held`; empty if it is taken.
std::optional<std::uint16_t> hold_port(std::uint16_t port, Held& held) {
  held.push_back(std::make_unique<Descriptor>(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  const int socket = held.back()->number();
  sockaddr_in address = {};
  address.sin_family = AF_INET;  // on all interfaces, because servers may listen on any of them
  address.sin_port = htons(port);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (socket < 0 || ::bind(socket, generic, size) != 0 ||
      ::getsockname(socket, generic, &size) != 0) {
    return std::nullopt;
  }
  return ntohs(address.sin_port);
}

/// Ports that were free a moment ago, each the first of `row` free ones. All are held until the
/// last one is found, so that they differ.
Result<std::vector<std::uint16_t>> free_ports(int count, int row) {
  constexpr int most_attempts = 100;  // at a row of free ports
  Held held;
  std::vector<std::uint16_t> ports;
  for (int attempt = 0; static_cast<int>(ports.size()) < count; ++attempt) {
    const auto first = hold_port(0, held);
    if (!first || attempt >= count + most_attempts) {
      return Error{ErrorKind::exhausted,
                   row == 1 ? fmt::format("cannot find a free port: {}", std::strerror(errno))
                            : fmt::format("cannot find {} free ports in a row", row)};
    }
    int in_row = 1;
    while (in_row < row && *first + in_row <= std::numeric_limits<std::uint16_t>::max() &&
           hold_port(static_cast<std::uint16_t>(*first + in_row), held)) {
      ++in_row;
    }
    if (in_row == row) ports.push_back(*first);
  }
  return ports;
}

/// How many servers the command starts by itself, on ports in a row from {port} on: `assay serve
/// --partitions 8`, `assay serve-sim --servers 8` or `--partitions 8`, whatever starts assay.
int servers_started_by(const std::vector<std::string>& words) {
  constexpr int most = 256;
  std::vector<std::string_view> options;
  int count = 1;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const bool of_assay = i > 0 && std::filesystem::path(words[i - 1]).filename() == "assay";
    if (of_assay && word == "serve") options = {"--partitions"};
    if (of_assay && word == "serve-sim") options = {"--servers", "--partitions"};
    const auto option = std::ranges::find_if(
        options, [&](std::string_view name) { return word.starts_with(name); });
    if (option == options.end()) continue;
    const std::string_view value = word.substr(option->size());
    const auto number = value.starts_with('=')                  ? parse_count(value.substr(1))
                        : value.empty() && i + 1 < words.size() ? parse_count(words[i + 1])
                                                                : std::nullopt;
    if (number && *number >= 1 && *number <= most) count = static_cast<int>(*number);
  }
  return count;
}

/// The port in what assay's servers say when they are ready: "listening on http://127.0.0.1:8000".
std::optional<std::uint16_t> announced_port(std::string_view line) {
  constexpr std::string_view ready = "listening on http://";
  if (!line.starts_with(ready)) return std::nullopt;
  const auto port = parse_count(trim(line.substr(line.rfind(':') + 1)));
  if (!port || *port == 0 || *port > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

/// The value of "index", "port+1", "128+index", "8000+2*index": numbers and the two names, with + -
/// * from left to right but * first. Empty if `text` is no such term of them.
std::optional<std::int64_t> value_of_term(std::string_view text, int port, int index) {
  std::int64_t sum = 0, product = 1;
  bool named = false;
  char sign = '+';
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(text.find_first_of("+-*", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const auto number = parse_count(word);
    if (word == "port" || word == "index") {
      named = true;
      product *= word == "port" ? port : index;
    } else if (number && *number <= most_constant) {
      product *= static_cast<std::int64_t>(*number);
    } else {
      return std::nullopt;
    }
    const char next = end < text.size() ? text[end] : '\0';
    if (std::abs(product) > most_value) return std::nullopt;
    if (next != '*') {
      sum += sign == '-' ? -product : product;
      product = 1;
      sign = next;
    }
    if (next == '\0') break;
    at = end + 1;
  }
  return named ? std::optional(sum) : std::nullopt;
}

/// So that "assay" means this binary, wherever it is, also to a program that starts it: `taskset -c
/// 0 assay serve`.
std::string path_with(const std::string& binary) {
  const char* const path = std::getenv("PATH");
  const std::string folder = std::filesystem::path(binary).parent_path().string();
  return path == nullptr ? folder : fmt::format("{}:{}", folder, path);
}

/// `text` with the values of its terms in braces; other braces stay. `ports`: counts the terms that
/// name the port.
std::string filled(std::string_view text, int port, int index, int* ports = nullptr) {
  std::string kept;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    kept += text.substr(0, open);
    text.remove_prefix(open);
    const std::size_t close = text.find('}');
    const auto value =
        close == text.npos ? std::nullopt : value_of_term(text.substr(1, close - 1), port, index);
    if (value) {
      kept += fmt::format("{}", *value);
      if (ports != nullptr && text.substr(0, close).find("port") != text.npos) ++*ports;
      text.remove_prefix(close + 1);
    } else if (!text.empty()) {
      kept += text.front();
      text.remove_prefix(1);
    }
  }
  return kept;
}

}  // namespace

Status check_spawn(const SpawnPlan& plan) {
  int named_ports = 0;
  for (const std::string& word : plan.words) filled(word, 1, 0, &named_ports);
  if (named_ports == 0) {
    return Error{ErrorKind::usage,
                 "the server's command has no {port}: write it where the port belongs, e.g. "
                 "\"vllm serve MODEL --port {port}\""};
  }
  const std::string& program = plan.words.front();
  return program == own_name ? Status() : check_that_starts(program);
}

/// One server and its log.
class SpawnedServers::Server {
 public:
  static Result<std::unique_ptr<Server>> start(const SpawnPlan& plan, int index,
                                               std::uint16_t port) {
    auto server = std::make_unique<Server>();
    server->index_ = index;
    server->url_.host = "127.0.0.1";
    server->url_.port = port;
    server->log_path_ = fmt::format("{}-{}.log", plan.logs.string(), index);
    errno = 0;
    server->log_.open(server->log_path_, std::ios::binary | std::ios::trunc);
    if (!server->log_) {
      const int error = errno;
      return Error{kind_of_file_error(error),
                   fmt::format("cannot write {}: {}", server->log_path_, std::strerror(error))};
    }
    ProgramStart program;
    for (const std::string& word : plan.words) program.words.push_back(filled(word, port, index));
    const std::string binary = TRY(own_binary());
    if (program.words.front() == own_name) program.words.front() = binary;
    const auto sets_path = [](const auto& variable) { return variable.first == "PATH"; };
    if (std::ranges::none_of(plan.variables, sets_path)) {
      program.variables.emplace_back("PATH", path_with(binary));
    }
    if (plan.devices) {
      program.variables.emplace_back(plan.devices->variable,
                                     plan.devices->devices[static_cast<std::size_t>(index)]);
    }
    for (const auto& [name, value] : plan.variables) {
      program.variables.emplace_back(name, filled(value, port, index));
    }
    program.grace_seconds = grace_seconds;
    program.line =
        program.error_line = [taker = server.get()](std::string_view line) { taker->take(line); };
    server->program_ = std::make_unique<BackgroundProgram>(std::move(program));
    return server;
  }

  void stop() { program_->stop(); }
  int announced() const {
    const MutexLock guard(mutex_);
    return announced_;
  }

  /// The addresses of all servers that the program runs: those that it said it listens on.
  std::vector<Url> urls() const {
    std::vector<Url> urls;
    do {
      urls.push_back(url_);
      urls.back().port = static_cast<std::uint16_t>(url_.port + urls.size() - 1);
    } while (static_cast<int>(urls.size()) < announced());
    return urls;
  }

  std::string last_output() const {
    const MutexLock guard(mutex_);
    return last_line_;
  }

  /// Error if the server has ended.
  Status check() const {
    const auto* end = program_->end();
    if (end == nullptr) return {};
    if (!end->ok()) return end->error();
    const int status = (**end).status;
    return unavailable(status > 128 ? fmt::format("was ended by signal {}", status - 128)
                                    : fmt::format("ended with status {}", status));
  }

  /// "server 3 WHAT: the last line that it wrote; its log: ..."
  Error unavailable(std::string_view what) const {
    const std::string said = last_output();
    return {ErrorKind::unavailable, fmt::format("server {} {}{}{}; its log: {}", index_, what,
                                                said.empty() ? ", silent" : ": ", said, log_path_)};
  }

  /// Whether each of at least `count` servers answers.
  bool answers(int count) const {
    if (count > 1 && announced() < count) return false;
    return std::ranges::all_of(urls(), &Server::answers_at);
  }

 private:
  static bool answers_at(const Url& url) {
    const auto endpoint = find_endpoint(url, false);
    if (!endpoint) return false;
    const auto status_of = [&](const char* page) {
      const auto reply = http_call(*endpoint, "GET", page, "", "", reply_seconds);
      return reply ? reply->status : 0;
    };
    // A server may list its model while still loading it, so check /health first.
    const int health = status_of("/health");
    return health == http_ok || (health == http_not_found && status_of("/v1/models") == http_ok);
  }

  /// Called on the thread that reads the program's output.
  void take(std::string_view line) {
    (log_ << line << '\n').flush();
    std::string shown = shown_line(hide_secrets_in(last_line(line)), most_shown);
    const auto port = announced_port(line);
    const MutexLock guard(mutex_);
    // No other port than the next one: a program may listen on more than is to be loaded.
    if (port && *port == url_.port + announced_) ++announced_;
    if (!shown.empty()) last_line_ = std::move(shown);
  }

  int index_ = 0;
  Url url_;
  std::string log_path_;
  std::ofstream log_;
  mutable Mutex mutex_;  // a thread reads what the program says
  std::string last_line_ GUARDED_BY(mutex_);
  int announced_ GUARDED_BY(mutex_) =
      0;  // how many ports in a row from its own on it said it listens on
  std::unique_ptr<BackgroundProgram> program_;  // last: ends before what it writes to
};

Result<std::unique_ptr<SpawnedServers>> SpawnedServers::start(
    const SpawnPlan& plan, const std::function<bool()>& stop_requested,
    const std::function<void(const SpawnState&)>& progress) {
  TRY(check_spawn(plan));
  if (plan.logs.has_parent_path()) TRY(create_folder(plan.logs.parent_path()));
  const int each = servers_started_by(plan.words);
  if (each > 1 && std::ranges::find(plan.words, "--json") != plan.words.end()) {
    return Error{ErrorKind::usage,
                 "the server's command starts several servers, whose addresses --json hides: leave "
                 "out --json"};
  }
  const std::vector<std::uint16_t> ports = TRY(free_ports(plan.servers, each));
  std::unique_ptr<SpawnedServers> spawned(new SpawnedServers);
  for (int i = 0; i < plan.servers; ++i) {
    spawned->servers_.push_back(TRY(Server::start(plan, i, ports[static_cast<std::size_t>(i)])));
  }
  TRY(spawned->wait(plan, stop_requested, progress));
  return spawned;
}

Status SpawnedServers::wait(const SpawnPlan& plan, const std::function<bool()>& stop_requested,
                            const std::function<void(const SpawnState&)>& progress) {
  const auto begin = std::chrono::steady_clock::now();
  SpawnState state;
  while (state.ready < plan.servers) {
    const Server& next = *servers_[static_cast<std::size_t>(state.ready)];
    TRY(check());
    if (stop_requested && stop_requested()) {
      return Error{ErrorKind::interrupted, "stopped before the servers were ready"};
    }
    if (next.answers(servers_started_by(plan.words))) {
      ++state.ready;
      continue;
    }
    state.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (state.seconds > plan.timeout_seconds) {
      return next.unavailable(fmt::format("does not answer after {:g} s", plan.timeout_seconds));
    }
    state.last_line = next.last_output();
    if (progress) progress(state);
    std::this_thread::sleep_for(between_questions);
  }
  return check();
}

SpawnedServers::~SpawnedServers() {
  for (const auto& server : servers_) server->stop();
}

std::vector<Url> SpawnedServers::urls() const {
  std::vector<Url> urls;
  for (const auto& server : servers_) {
    for (Url& url : server->urls()) urls.push_back(std::move(url));
  }
  return urls;
}

Status SpawnedServers::check() const {
  for (const auto& server : servers_) TRY(server->check());
  return {};
}

}  // namespace assay
