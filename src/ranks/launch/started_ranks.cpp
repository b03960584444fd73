#include "ranks/launch/started_ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "core/background_program.h"
#include "core/own_binary.h"
#include "core/program.h"
#include "core/shown_text.h"
#include "core/units.h"
#include "core/yaml_text.h"
#include "ranks/environments/environment.h"

namespace assay {
namespace {

constexpr int most_ranks_per_host = 4096;
constexpr std::chrono::seconds farewell{10};

/// Returns whether a variable configures the libraries under test: remote ranks get rank 0's
/// values.
bool goes_along(std::string_view name) {
  for (const std::string_view prefix :
       {"NCCL_", "RCCL_", "UCX_", "FI_", "HSA_", "HIP_", "ROCR_", "CUDA_", "GPU_", "ASSAY_"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

std::vector<std::pair<std::string, std::string>> variables_of(const RankStart& start, int rank,
                                                              int local_rank) {
  return {{"ASSAY_RANK", fmt::format("{}", rank)},
          {"ASSAY_RANKS", fmt::format("{}", start.size)},
          {"ASSAY_LOCAL_RANK", fmt::format("{}", local_rank)},
          {"ASSAY_ADDRESS", start.address},
          {"ASSAY_TOKEN", start.token}};
}

YamlValue yaml_text(std::string text) {
  YamlValue value;
  value.kind = YamlValue::Kind::text;
  value.text = std::move(text);
  return value;
}

YamlValue yaml_map(const std::vector<std::pair<std::string, YamlValue>>& members) {
  YamlValue map;
  map.kind = YamlValue::Kind::map;
  for (const auto& [name, value] : members) {
    map.keys.push_back({name, 1});
    map.items.push_back(value);
  }
  return map;
}

/// Uses the ssh environment of campaigns, which copies the binary to the other machine and starts
/// it there.
Result<std::unique_ptr<Environment>> over_ssh(
    const std::string& host, const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::pair<std::string, YamlValue>> named;
  for (const auto& [name, value] : variables) named.emplace_back(name, yaml_text(value));
  return read_environment(yaml_map({{"kind", yaml_text("ssh")},
                                    {"target", yaml_text(host)},
                                    {"variables", yaml_map(named)}}),
                          "--hosts", {});
}

}  // namespace

/// One started rank.
struct StartedRanks::Running {
  int rank = 0;
  std::string host;  // empty: this machine
  std::unique_ptr<BackgroundProgram> program;

  /// Returns why it failed; empty if it succeeded or is still running.
  std::string failure() const {
    const auto* end = program->end();
    if (end == nullptr) return {};
    if (!end->ok()) return end->error().message;
    const ProgramEnd& ended = **end;
    if (ended.stopped) return {};
    if (ended.status > 128) {
      return fmt::format("was ended by signal {} ({})", ended.status - 128,
                         ::strsignal(ended.status - 128));
    }
    // A rank that printed nothing ended because other ranks did.
    constexpr std::size_t most_told = 500;  // bytes; the text may come from another machine
    const std::string told = shown_line(last_line(ended.errors_tail), most_told);
    if (ended.status == 0 || told.empty()) return {};
    return fmt::format("ended with status {}: {}", ended.status, told);
  }
};

StartedRanks::StartedRanks() = default;
StartedRanks::StartedRanks(StartedRanks&&) noexcept = default;
StartedRanks& StartedRanks::operator=(StartedRanks&&) noexcept = default;

StartedRanks::~StartedRanks() {
  const auto end = std::chrono::steady_clock::now() + farewell;
  for (const auto& running : running_) {
    while (!running->program->ended() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    running->program->stop();
  }
}

Status StartedRanks::start_here(const RankStart& start, int first, int count, int first_local) {
  const std::string binary = TRY(own_binary());
  for (int i = 0; i < count; ++i) {
    ProgramStart program;
    program.words = {binary};
    program.words.insert(program.words.end(), start.arguments.begin(), start.arguments.end());
    program.variables = variables_of(start, first + i, first_local + i);
    auto running = std::make_unique<Running>();
    running->rank = first + i;
    running->program = std::make_unique<BackgroundProgram>(std::move(program));
    running_.push_back(std::move(running));
  }
  return {};
}

Status StartedRanks::start_there(const RankStart& start, int first, const HostSlots& slots) {
  LaunchContext context;
  context.binary = TRY(own_binary());
  context.environment = slots.host;
  context.answer_seconds = start.answer_seconds;
  for (int i = 0; i < slots.ranks; ++i) {
    auto variables = variables_of(start, first + i, i);
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string_view text = *variable;
      const std::string_view name = text.substr(0, text.find('='));
      const bool told = std::any_of(variables.begin(), variables.end(),
                                    [&](const auto& known) { return known.first == name; });
      if (told || !goes_along(name) || !is_variable_name(name)) continue;
      variables.emplace_back(name, text.substr(name.size() + 1));
    }
    const auto environment = TRY(over_ssh(slots.host, variables));
    if (i == 0) TRY(environment->prepare(context));
    const Launch launch = TRY(environment->launch(start.arguments, context));
    auto running = std::make_unique<Running>();
    running->rank = first + i;
    running->host = slots.host;
    ProgramStart program;
    program.words = launch.words;
    program.variables = launch.variables;
    program.input = launch.input;
    running->program = std::make_unique<BackgroundProgram>(std::move(program));
    running_.push_back(std::move(running));
  }
  return {};
}

std::vector<std::string> StartedRanks::failures() const {
  std::vector<std::string> failures;
  for (const auto& running : running_) {
    const std::string failure = running->failure();
    if (failure.empty()) continue;
    failures.push_back(fmt::format("rank {}{}{} {}", running->rank,
                                   running->host.empty() ? "" : " on ", running->host, failure));
  }
  return failures;
}

bool StartedRanks::all_ended() const {
  return std::all_of(running_.begin(), running_.end(),
                     [](const auto& running) { return running->program->ended(); });
}

Result<std::vector<HostSlots>> parse_hosts(const std::string& text) {
  std::vector<HostSlots> hosts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const std::size_t colon = item.rfind(':');
    HostSlots slots{item.substr(0, colon), 1};
    if (colon != std::string::npos) {
      const auto ranks = parse_integer(item.substr(colon + 1));
      slots.ranks = ranks.ok() && *ranks <= most_ranks_per_host ? static_cast<int>(*ranks) : 0;
    }
    if (slots.host.empty() || slots.host.front() == '-' || slots.ranks < 1) {
      return Error{ErrorKind::usage,
                   fmt::format("\"{}\" is not allowed; allowed: HOST or HOST:RANKS with 1 to {} "
                               "ranks, separated by commas",
                               item, most_ranks_per_host)};
    }
    hosts.push_back(std::move(slots));
    begin = end + 1;
  }
  return hosts;
}

}  // namespace assay
