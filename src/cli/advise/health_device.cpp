#include "cli/advise/health_device.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <system_error>

#include "advise/health/device_use.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/measure/run_ranks.h"
#include "cli/option_values.h"
#include "cli/progress.h"
#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "core/text.h"
#include "core/units.h"
#include "core/write_file.h"
#include "measure/suites/cells_of_target.h"
#include "ranks/launch/cpu_share.h"
#include "ranks/team/agreement.h"

namespace assay::cli {
namespace {

std::string progress_label(const health::SdcProgress& progress) {
  if (progress.differences == 0) return progress.unit;
  return fmt::format("{} differences; {}", progress.differences, progress.unit);
}

}  // namespace

Result<HealthDevice> open_for_health(const Arguments& arguments,
                                     const std::vector<std::string>& words,
                                     const std::vector<std::string>& passed_on,
                                     Terminal& terminal) {
  HealthDevice opened;
  // Ranks meet for a plan that needs them all.
  const Plan plan = TRY(make_plan("collective", {}));
  TeamRequest request = TRY(read_team_request(arguments, plan));
  request.arguments = words;
  for (const std::string& option : passed_on) {
    if (!arguments.has(option)) continue;
    request.arguments.push_back(option);
    // A flag's value is "1".
    if (arguments.get(option) != "1" || option != "--shared") {
      request.arguments.push_back(arguments.get(option));
    }
  }
  opened.session = TRY(meet_ranks(request, plan, terminal));
  Team& team = opened.team();
  if (team.rank() > 0) close_output();
  opened.backends = make_backends();
  const std::string choice = arguments.get("--device");
  TRY(divide_cpus(team, chooses_cpu(opened.backends, choice)));
  auto device = open_device_of_rank(opened.backends, choice, own_place(team).local_rank);
  TRY(agree(team, "opening devices", device.ok() ? Status() : Status(device.error())));
  opened.device = std::move(*device);
  // Ranks on CPUs share one device.
  const DeviceFacts& facts = opened.device->facts();
  if (team.size() > 1 && facts.runs_on_host) return opened;
  auto lock = health::lock_device(facts);
  TRY(agree(team, "locking devices", lock.ok() ? Status() : Status(lock.error())));
  opened.lock = std::move(*lock);
  return opened;
}

Result<health::SdcPlan> read_sdc_plan(const Arguments& arguments) {
  health::SdcPlan plan;
  const auto duration = parse_duration(arguments.get("--duration", "10min"));
  if (!duration.ok()) return about("--duration", duration.error());
  plan.seconds = *duration;
  const auto seed = parse_integer(arguments.get("--seed", "1"));
  if (!seed.ok()) return about("--seed", seed.error());
  plan.seed = *seed;
  plan.only = arguments.get("--only");
  const std::string memory = arguments.get("--memory", "90");
  const auto share = parse_number(memory);
  constexpr double percent = 100;
  if (!share || *share <= 0 || *share >= percent) {
    return Error{
        ErrorKind::usage,
        fmt::format("--memory \"{}\" is not allowed; allowed: above 0, below 100", memory)};
  }
  plan.memory_share = *share / percent;
  for (const std::string& fault : split(arguments.get("--plant"), ';')) {
    if (!fault.empty()) plan.faults.push_back(TRY(health::parse_planted_fault(fault)));
  }
  plan.stop_requested = &interrupt_requested;
  return plan;
}

Status check_result_file(const std::string& file) {
  TRY(check_writable(file));
  std::error_code problem;
  if (!std::filesystem::is_regular_file(file, problem)) return {};
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  const auto text = read_operand(file, most_bytes);
  const auto json = text.ok() ? parse_json(*text) : Result<Json>(text.error());
  if (!json.ok() || !json->is_object()) return {};
  const Json results = json->value("results", *json);
  if (!results.is_object() || !results.contains("verdict") || results["verdict"] != "CORRUPT") {
    return {};
  }
  const auto planted = results.find("planted");  // how often the test itself changed a result
  if (planted != results.end() && planted->is_number_unsigned() && *planted > 0) return {};
  return Error{ErrorKind::usage,
               fmt::format("{} holds a CORRUPT result and is not replaced; move it away, or name "
                           "another file with --output",
                           file)};
}

Status keep_result(const Arguments& arguments, Terminal& terminal, const std::string& file,
                   const Json& json, const std::string& text) {
  if (terminal.interactive()) terminal.rewrite_line("");
  terminal.print(arguments.has("--json") ? json_line(json) + "\n" : text);
  TRY(write_file(file, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
  terminal.note(fmt::format("wrote {}\n", file));
  return {};
}

std::string SdcProgressLines::next(const health::SdcProgress& progress) {
  constexpr double between = 15, most_lines = 100;
  const double wait = std::max(between, progress.of / most_lines);
  if (last_ && progress.seconds - *last_ < wait) return {};
  last_ = progress.seconds;
  return fmt::format(
      "[{}/{}]  {} left  {}\n", format_clock(progress.seconds), format_clock(progress.of),
      format_clock(std::max(progress.of - progress.seconds, 0.0)), progress_label(progress));
}

std::function<void(const health::SdcProgress&)> shown_progress(Terminal& terminal) {
  if (!terminal.interactive()) {
    return [&terminal, lines = SdcProgressLines()](const health::SdcProgress& progress) mutable {
      const std::string line = lines.next(progress);
      if (!line.empty()) terminal.note(line);
    };
  }
  return [&terminal, last = std::chrono::steady_clock::time_point()](
             const health::SdcProgress& progress) mutable {
    constexpr auto between = std::chrono::milliseconds(100);
    const auto now = std::chrono::steady_clock::now();
    if (now - last < between) return;
    last = now;
    Progress line;
    constexpr double parts = 1000;
    line.total = static_cast<std::size_t>(parts);
    line.done = static_cast<std::size_t>(
        std::min(progress.seconds / std::max(progress.of, 1e-3), 1.0) * parts);
    line.elapsed_seconds = progress.seconds;
    line.budget_seconds = progress.of;
    line.label = progress_label(progress);
    terminal.rewrite_line(progress_line(line, static_cast<std::size_t>(terminal.error_width()),
                                        terminal.error_style()));
  };
}

int status_of(const health::SdcOutcome& outcome) {
  if (outcome.verdict == health::SdcVerdict::corrupt) return exit_verification;
  if (outcome.interrupted) return exit_interrupted;
  // Whether the test finds a fault that it did not plant is open.
  if (!outcome.planted_faults.empty() && outcome.planted == 0) return exit_inconclusive;
  return outcome.verdict == health::SdcVerdict::sound ? exit_ok : exit_inconclusive;
}

std::vector<Option> with_rank_options(std::vector<Option> options) {
  const std::vector<Option> of_ranks = {
      {"--device", "NAME", "device to test, e.g. cuda:0, hip:1, cpu; default: the best one",
       "cpu cuda hip"},
      {"--seed", "N", "seed of the inputs; default 1", ""},
      {"--ranks", "N", "test N devices of this machine at once, a process each, and compare them",
       ""},
      {"--hosts", "LIST", "test devices of several machines, e.g. node1:8,node2:8, over ssh", ""},
      {"--without-secret", "",
       "under srun, torchrun or dstack: start without a token although other users of this "
       "machine could take a rank's place",
       ""},
      {"--plant", "FAULT[;...]",
       "invert bits of a result on purpose, to see that the test finds them; `assay help health` "
       "explains FAULT",
       ""},
      {"--patience", "TIME", "how long a rank may keep the others waiting; default 2min", ""},
  };
  options.insert(options.end(), of_ranks.begin(), of_ranks.end());
  return options;
}

}  // namespace assay::cli
