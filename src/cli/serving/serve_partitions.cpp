#include "cli/serving/serve_partitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "cli/interrupt.h"
#include "compute/device/backend.h"
#include "core/background_program.h"
#include "core/json.h"
#include "core/mutex.h"
#include "core/own_binary.h"
#include "core/units.h"
#include "machine/system/affinity.h"
#include "serving/engine/cache_plan.h"

namespace assay::cli {
namespace {

constexpr std::string_view ready = "listening on ";

/// The device or the CPUs on which one of the servers runs.
struct Part {
  std::string device;     ///< for --device
  std::vector<int> cpus;  ///< affinity of the server; empty: that of this process
};

std::vector<Part> parts_of_cpus(const std::vector<int>& cpus, int count) {
  std::vector<Part> parts;
  const auto of = [&](int part) {
    return cpus.begin() + static_cast<std::ptrdiff_t>(cpus.size()) * part / count;
  };
  for (int i = 0; i < count; ++i) parts.push_back({"cpu", {of(i), of(i + 1)}});
  return parts;
}

/// The backend that --device chooses, by its name alone.
Result<std::vector<Part>> parts_of_machine(const std::string& choice, int count) {
  auto backends = make_backends();
  const auto too_few = [&](std::size_t there, std::string_view what) {
    return Error{ErrorKind::usage,
                 fmt::format("--partitions {}: there are {} {}", count, there, what)};
  };
  if (chooses_cpu(backends, choice)) {
    const std::vector<int> cpus = affinity_cpus();
    if (cpus.size() < static_cast<std::size_t>(count)) return too_few(cpus.size(), "CPUs");
    return parts_of_cpus(cpus, count);
  }
  if (choice.find(':') != std::string::npos) {
    return Error{ErrorKind::usage,
                 fmt::format("--device {}: with --partitions give a backend without a number, e.g. "
                             "cuda: each server gets a device of its own",
                             choice)};
  }
  Backend* chosen = nullptr;
  for (const auto& backend : backends) {
    const bool named = !choice.empty() && backend->name() == choice;
    const bool best = choice.empty() && backend->score() > 0 &&
                      (chosen == nullptr || backend->score() > chosen->score());
    if (named || best) chosen = backend.get();
  }
  const std::size_t there = chosen == nullptr ? 0 : chosen->devices().size();
  if (there < static_cast<std::size_t>(count)) return too_few(there, "devices");
  std::vector<Part> parts;
  for (int i = 0; i < count; ++i) parts.push_back({fmt::format("{}:{}", chosen->name(), i), {}});
  return parts;
}

bool is_flag(std::string_view name) {
  for (const auto* options : {&find_command("serve")->options, &common_options()}) {
    for (const Option& option : *options) {
      if (option.name == name) return option.value.empty();
    }
  }
  return true;
}

}  // namespace

std::vector<std::string> server_words(const Arguments& arguments,
                                      std::initializer_list<std::string_view> but) {
  std::vector<std::string> words;
  for (const auto& [name, value] : arguments.options) {
    if (std::ranges::find(but, name) != but.end()) continue;
    words.push_back(name);
    if (!is_flag(name)) words.push_back(value);
  }
  return words;
}

namespace {

class Servers {
 public:
  explicit Servers(std::size_t count) : urls_(count) {}

  Status start(std::size_t index, std::vector<std::string> words, std::vector<int> cpus) {
    ProgramStart program;
    program.words = std::move(words);
    program.cpus = std::move(cpus);
    program.line = [this, index](std::string_view line) {
      if (!line.starts_with(ready)) return;
      const MutexLock lock(mutex_);
      urls_[index] = line.substr(ready.size());
    };
    program.error_line = [this, index](std::string_view line) {
      const MutexLock lock(mutex_);
      notes_ += fmt::format("server {}: {}\n", index, line);
    };
    programs_.push_back(std::make_unique<BackgroundProgram>(std::move(program)));
    return {};
  }

  /// The URLs of all servers; empty until every one listens.
  std::vector<std::string> urls() const {
    const MutexLock lock(mutex_);
    const bool all = std::none_of(urls_.begin(), urls_.end(),
                                  [](const std::string& url) { return url.empty(); });
    return all ? urls_ : std::vector<std::string>();
  }
  std::string take_notes() {
    const MutexLock lock(mutex_);
    return std::exchange(notes_, {});
  }
  /// Error if one has ended.
  Status check() const {
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      const auto* end = programs_[i]->end();
      if (end == nullptr) continue;
      if (!end->ok()) return end->error();
      return Error{ErrorKind::unavailable,
                   fmt::format("server {} ended with status {}; it said: {}", i, (**end).status,
                               last_line((**end).errors_tail))};
    }
    return {};
  }
  /// Asks all to end, and waits until they have.
  void stop() {
    for (const auto& program : programs_) program->stop();
    programs_.clear();
  }

 private:
  mutable Mutex mutex_;  // taken by the threads that read the servers' output
  std::vector<std::string> urls_ GUARDED_BY(mutex_);
  std::string notes_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<BackgroundProgram>> programs_;  // last: end before what they write to
};

void print_urls(const std::vector<std::string>& urls, const Arguments& arguments,
                Terminal& terminal) {
  if (arguments.has("--json")) {
    terminal.print(json_line(Json({{"urls", urls}})) + "\n");
  } else {
    for (const std::string& url : urls) terminal.print(std::string(ready) + url + "\n");
  }
  terminal.flush();
}

}  // namespace

Status serve_partitions(const Arguments& arguments, int count, Terminal& terminal) {
  const auto parts = TRY(parts_of_machine(arguments.get("--device"), count));
  const std::string binary = TRY(own_binary());
  const auto port = TRY(parse_integer(arguments.get("--port", "8000")));
  std::vector<std::string> shared =
      server_words(arguments, {"--partitions", "--device", "--port", "--json"});
  if (!parts.front().cpus.empty() && !arguments.has("--gpu-memory-utilization")) {
    // All servers share one memory.
    shared.insert(shared.end(), {"--gpu-memory-utilization",
                                 fmt::format("{:.6f}", engine::utilization_of_cpus / count)});
  }
  Servers servers(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<std::string> words = {binary, "serve"};
    words.insert(words.end(), shared.begin(), shared.end());
    words.insert(words.end(), {"--device", parts[i].device, "--port",
                               fmt::format("{}", port == 0 ? 0 : port + i)});
    TRY(servers.start(i, std::move(words), parts[i].cpus));
  }
  bool printed = false;
  Status status;
  while (status.ok() && !interrupt_requested()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const std::vector<std::string> urls = servers.urls();
    if (!printed && !urls.empty()) {
      print_urls(urls, arguments, terminal);
      printed = true;
    }
    status = servers.check();
    terminal.note(servers.take_notes());
  }
  servers.stop();
  terminal.note(servers.take_notes());
  return status;
}

}  // namespace assay::cli
