#include "cli/serving/load_servers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/results_store.h"
#include "core/secrets.h"
#include "core/units.h"
#include "ranks/environments/shell_words.h"
#include "serving/server_facts.h"
#include "serving/text_length.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t most_servers = 256;
constexpr double most_connect_seconds = 10;
constexpr double between_notes = 30;  // seconds, if there is no terminal line to rewrite
constexpr auto between_drawings = std::chrono::milliseconds(200);

bool chooses_devices(std::string_view variable) {
  return variable == "HIP_VISIBLE_DEVICES" || variable == "ROCR_VISIBLE_DEVICES" ||
         variable == "CUDA_VISIBLE_DEVICES";
}

Status read_variables(const Arguments& arguments, SpawnPlan& plan) {
  for (const std::string& text : arguments.all("--spawn-env")) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Error{ErrorKind::usage,
                   fmt::format("--spawn-env \"{}\" is not allowed; allowed: NAME=VALUE", text)};
    }
    plan.variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return {};
}

/// Several servers get one GPU each, unless the user says otherwise; a single server gets all GPUs,
/// because it may use them all.
Status choose_devices(SpawnPlan& plan) {
  const bool chosen = std::any_of(plan.variables.begin(), plan.variables.end(),
                                  [](const auto& pair) { return chooses_devices(pair.first); });
  if (plan.servers < 2 || chosen) return {};
  plan.devices = visible_devices(this_machine());
  if (!plan.devices || plan.devices->devices.size() >= static_cast<std::size_t>(plan.servers)) {
    return {};
  }
  return Error{
      ErrorKind::usage,
      fmt::format("--servers {}: there are {} GPUs; ask for fewer, or set what each server "
                  "sees, e.g. --spawn-env {}=0",
                  plan.servers, plan.devices->devices.size(), plan.devices->variable)};
}

/// Sets LoadRequest::simulated; `first`: whether the first server is simulated. Error: usage, if
/// only some of the servers are simulated.
Status refuse_mixed_servers(LoadRequest& request, bool first) {
  const LoadSettings& settings = request.settings;
  for (std::size_t i = 1; i < settings.targets.size(); ++i) {
    const auto model = served_model(settings.targets[i], settings.plan.fields);
    const bool simulated = model.ok() && model->owner == simulated_owner;
    if (simulated == first) continue;
    return Error{
        ErrorKind::usage,
        fmt::format("{} is simulated by assay serve-sim and {} is not; load them one after "
                    "the other",
                    text_of(request.urls[simulated ? i : 0]),
                    text_of(request.urls[simulated ? 0 : i]))};
  }
  request.simulated = first;
  return {};
}

/// "waiting for servers: 2 of 8 ready, 0:34: what the next one says"
class WaitView {
 public:
  WaitView(const SpawnPlan& plan, Terminal& terminal) : plan_(plan), terminal_(terminal) {}
  ~WaitView() {
    if (drawn_) terminal_.rewrite_line("");
  }
  WaitView(const WaitView&) = delete;
  WaitView& operator=(const WaitView&) = delete;

  void show(const SpawnState& state) {
    std::string line = fmt::format("waiting for servers: {} of {} ready, {}{}{}", state.ready,
                                   plan_.servers, format_clock(state.seconds),
                                   state.last_line.empty() ? "" : ": ", state.last_line);
    if (!terminal_.interactive()) {
      if (state.seconds < noted_ + between_notes) return;
      noted_ = state.seconds;
      terminal_.note(line + "\n");
      return;
    }
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < between_drawings) return;
    shown_ = now;
    drawn_ = true;
    line.resize(std::min(line.size(), static_cast<std::size_t>(terminal_.error_width() - 1)));
    terminal_.rewrite_line(line);
  }

 private:
  const SpawnPlan& plan_;
  Terminal& terminal_;
  double noted_ = 0;
  std::chrono::steady_clock::time_point shown_;
  bool drawn_ = false;
};

}  // namespace

Result<SpawnPlan> read_spawn_plan(const Arguments& arguments, const std::string& command) {
  SpawnPlan plan;
  plan.words = TRY(split_shell_words(command));
  const auto servers = parse_integer(arguments.get("--servers", "1"));
  if (!servers || *servers < 1 || *servers > most_servers) {
    return Error{ErrorKind::usage, fmt::format("--servers \"{}\" is not allowed; allowed: 1 to {}",
                                               arguments.get("--servers"), most_servers)};
  }
  plan.servers = static_cast<int>(*servers);
  if (arguments.has("--spawn-timeout")) {
    const auto seconds = parse_duration(arguments.get("--spawn-timeout"));
    if (!seconds) return about("--spawn-timeout", seconds.error());
    plan.timeout_seconds = *seconds;
  }
  TRY(read_variables(arguments, plan));
  TRY(choose_devices(plan));
  return plan;
}

Result<std::optional<SpawnPlan>> read_spawn(const Arguments& arguments) {
  if (arguments.has("--spawn")) {
    if (arguments.has("--url")) {
      return Error{ErrorKind::usage,
                   "--spawn starts servers, --url names running ones; give only one of them"};
    }
    return std::optional(TRY(read_spawn_plan(arguments, arguments.get("--spawn"))));
  }
  for (const char* option : {"--servers", "--spawn-env", "--spawn-timeout"}) {
    if (arguments.has(option)) {
      return Error{ErrorKind::usage, fmt::format("{} needs --spawn", option)};
    }
  }
  return std::optional<SpawnPlan>();
}

std::filesystem::path server_logs(const std::string& folder, const std::string& run) {
  std::error_code ignored;
  const std::filesystem::path place =
      folder == pipe ? std::filesystem::temp_directory_path(ignored) / "assay-servers"
                     : std::filesystem::path(folder) / "servers";
  return place / run;
}

Result<std::unique_ptr<SpawnedServers>> spawn_servers(const SpawnPlan& plan, Terminal& terminal) {
  WaitView view(plan, terminal);
  return SpawnedServers::start(plan, &interrupt_requested,
                               [&](const SpawnState& state) { view.show(state); });
}

std::vector<std::pair<std::string, std::string>> spawn_notes(const SpawnPlan& plan) {
  std::vector<std::pair<std::string, std::string>> notes = {
      {"spawn", shell_words(hide_secrets(plan.words))},
      {"servers", fmt::format("{}", plan.servers)}};
  if (plan.devices) notes.emplace_back("spawn_devices", plan.devices->variable);
  for (const auto& [name, value] : plan.variables) {
    notes.emplace_back("spawn_env " + name, hide_secret_value(name, value));
  }
  return notes;
}

Status find_servers(LoadRequest& request) {
  LoadSettings& settings = request.settings;
  RequestOptions& options = settings.plan.request;
  settings.targets.clear();
  const double patience = std::min(most_connect_seconds, settings.plan.silence_seconds);
  for (const Url& url : request.urls) {
    settings.targets.push_back(TRY(find_endpoint(url, request.insecure, patience)));
  }
  const Endpoint& first = settings.targets.front();
  const auto model = served_model(first, settings.plan.fields);
  const bool needs_name =
      options.model.empty() && (options.api == Api::completions || options.api == Api::chat);
  if (!model && needs_name) return model.error();
  TRY(refuse_mixed_servers(request, model.ok() && model->owner == simulated_owner));
  if (model) {
    if (options.model.empty()) options.model = model->id;
    // The fewest tokens from which prompts can be drawn.
    constexpr std::uint64_t fewest_tokens = 100;
    if (model->vocabulary > 0 && model->vocabulary < fewest_tokens) {
      return Error{ErrorKind::failed,
                   fmt::format("{} says in /v1/models that its vocabulary has {} tokens (n_vocab); "
                               "prompts need at least {}",
                               text_of(request.urls.front()), model->vocabulary, fewest_tokens)};
    }
    settings.prompts.vocabulary = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(model->vocabulary, std::numeric_limits<std::int32_t>::max()));
  }
  const Dataset dataset = settings.prompts.dataset;
  if (takes_ids(options.api) || (dataset != Dataset::random && dataset != Dataset::trace &&
                                 dataset != Dataset::prefix_repetition)) {
    return {};
  }
  if (dataset != Dataset::random) {
    return Error{ErrorKind::usage,
                 fmt::format("--dataset {} has token ids, which --api {} does not accept; use "
                             "--api completions",
                             name_of(dataset), name_of(options.api))};
  }
  const TextLength length =
      TRY(measure_text(first, options, settings.plan.fields, settings.prompts.seed));
  settings.prompts.words_per_token = length.words_per_token;
  const auto added = static_cast<std::uint64_t>(std::llround(length.template_tokens));
  if (settings.prompts.input_tokens > added) {
    settings.prompts.input_tokens -= added;
    settings.plan.template_tokens = added;
  }
  return {};
}

}  // namespace assay::cli
