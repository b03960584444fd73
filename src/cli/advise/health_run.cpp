#include "cli/advise/health_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <limits>
#include <map>

#include "advise/health/accept/acceptance_plan.h"
#include "advise/health/device_use.h"
#include "cli/advise/doctor_view.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/results_store.h"
#include "cli/table.h"
#include "compute/device/backend.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/own_binary.h"
#include "core/program.h"
#include "core/units.h"
#include "core/version.h"
#include "core/write_file.h"
#include "measure/sampling/runner.h"
#include "ranks/environments/shell_words.h"
#include "results/store/record_json.h"

namespace assay::cli {
namespace {

using health::Acceptance;
using health::CorruptionTest;
using health::JudgedLine;
using health::LineVerdict;

/// The devices that are accepted: the one that `choice` names, or all of the default backend.
Result<std::vector<DeviceFacts>> accepted_devices(const std::string& choice) {
  auto backends = make_backends();
  const std::string name = choice.substr(0, choice.find(':'));
  Backend* chosen = nullptr;
  for (const auto& backend : backends) {
    if (name.empty() ? chosen == nullptr || backend->score() > chosen->score()
                     : backend->name() == name) {
      chosen = backend.get();
    }
  }
  std::vector<DeviceFacts> devices;
  if (chosen != nullptr && chosen->score() != 0) devices = chosen->devices();
  if (choice.find(':') != std::string::npos) {
    const auto ordinal = parse_integer(choice.substr(choice.find(':') + 1));
    if (!ordinal.ok()) return about("--device", ordinal.error());
    std::erase_if(devices, [&](const DeviceFacts& facts) {
      return facts.ordinal != static_cast<int>(*ordinal);
    });
  }
  if (devices.empty()) {
    return Error{ErrorKind::unavailable,
                 fmt::format("no device to accept{}; `{} devices` says what is here",
                             choice.empty() ? "" : " by --device " + choice, own_command())};
  }
  return devices;
}

/// Keeps other tests from the devices, each of which must be unused unless `shared`.
Result<std::vector<Descriptor>> hold(const std::vector<DeviceFacts>& devices, bool shared) {
  std::vector<Descriptor> locks;
  for (const DeviceFacts& facts : devices) {
    if (!shared) TRY(health::check_unused(facts));
    locks.push_back(TRY(health::lock_device(facts)));
  }
  return locks;
}

/// Collects what the processes print: records and, as text for the hash, their lines.
struct Collected {
  std::vector<Record> records;
  std::string lines;

  void take(std::string_view line) {
    const Json json = try_parse_json(line);
    if (!json.is_object() || !json.contains("status")) return;
    auto record = record_from_json(json);
    if (!record.ok()) return;
    lines += fmt::format("{}\n", line);
    records.push_back(*std::move(record));
  }
};

/// Passes on what a test says of its progress and of problems.
std::function<void(std::string_view)> passed_on(Terminal& terminal) {
  return [&terminal](std::string_view line) {
    if (line.starts_with("[") || line.starts_with("assay:")) {
      terminal.note(fmt::format("  {}\n", line));
    }
  };
}

/// `most_seconds`: until the process is ended, whatever it has measured. Returns why it failed;
/// empty if it did not.
Result<std::string> run_step(const health::AcceptanceStep& step, const std::string& folder,
                             double most_seconds, Collected& collected, Terminal& terminal) {
  ProgramStart start;
  start.words = step.words;
  start.words.insert(start.words.begin(), TRY(own_binary()));
  start.words.insert(start.words.end(), {"--json", "--out", folder});
  constexpr double start_and_end = 120;
  start.timeout_seconds = std::min(2 * step.seconds + start_and_end, most_seconds);
  start.stop_requested = &interrupt_requested;
  start.line = [&](std::string_view line) { collected.take(line); };
  start.error_line = passed_on(terminal);
  const ProgramEnd end = TRY(run_program(start));
  if (!end.timed_out) return end.status == exit_ok ? "" : last_line(end.errors_tail);
  return fmt::format("it did not end within {:.0f} s", start.timeout_seconds);
}

/// Keeps the whole result beside the records, or in the current folder if there are no records and
/// it is CORRUPT. Machines may share the folder, and a later test must not replace a difference
/// that was found, so each file has a name of its own. Returns it; empty, if none was written.
std::string keep_corruption(const AcceptanceRequest& request, const Json& result,
                            Terminal& terminal) {
  const bool stored = request.folder != pipe;
  if (!stored && result["verdict"] != "CORRUPT") return {};
  const std::string file =
      fmt::format("{}sdc-{}.json", stored ? request.folder + "/" : "", new_run_id());
  Status written = stored ? create_folder(request.folder) : Status();
  if (written.ok()) {
    written = write_file(file, result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  if (written.ok()) return file;
  terminal.note(written.error().message + "\n");
  return {};
}

Result<CorruptionTest> test_corruption(const AcceptanceRequest& request, const std::string& device,
                                       std::size_t devices, Terminal& terminal) {
  CorruptionTest test;
  const double seconds = test.seconds = request.corruption_seconds;
  ProgramStart start;
  start.words = {TRY(own_binary()), "health",     "sdc",
                 "--json",          "--duration", fmt::format("{:.3f}s", seconds),
                 "--device",        device,       "--output",
                 "/dev/null"};
  if (devices > 1) start.words.insert(start.words.end(), {"--ranks", fmt::format("{}", devices)});
  if (request.shared) start.words.emplace_back("--shared");
  constexpr double start_and_end = 300;
  start.timeout_seconds = 2 * seconds + start_and_end;
  start.stop_requested = &interrupt_requested;
  std::string text;
  start.line = [&](std::string_view line) { text += fmt::format("{}\n", line); };
  start.error_line = passed_on(terminal);
  const ProgramEnd end = TRY(run_program(start));
  const Json json = try_parse_json(text);
  if (json.is_object() && json.contains("verdict") && json["verdict"].is_string()) {
    test.verdict = json["verdict"];
    test.why = json.value("why", "");
    test.file = keep_corruption(request, json, terminal);
    return test;
  }
  test.verdict = "UNKNOWN";
  test.why = end.timed_out ? "it did not end in time" : last_line(end.errors_tail);
  return test;
}

std::string command_of(const AcceptanceRequest& request, const Arguments& arguments) {
  const bool accept = request.thoroughness != health::Thoroughness::quick;
  std::string command = fmt::format("{} health{}", own_command(), accept ? " accept" : "");
  for (const auto& [name, value] : arguments.options) {
    if (name == "--certificate" || name == "--json" || name == "--color") continue;
    command += fmt::format(" {}{}", name, value == "1" ? "" : " " + shell_quoted(value));
  }
  return command;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string host_name() {
  std::array<char, 256> name = {};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// What is judged by what, and how long it takes.
std::string announcement(const std::vector<DeviceFacts>& devices, const health::Limits& limits,
                         const health::AcceptancePlan& plan, const AcceptanceRequest& request) {
  const double corruption = request.corruption_seconds;
  return fmt::format(
      "{} x {} by {} ({}): {}at most {}{}\n", devices.size(), devices.front().name, limits.name,
      limits.description, plan.steps.empty() ? "no rate is measured, " : "",
      format_clock(plan.seconds + corruption),
      corruption > 0
          ? fmt::format(", of which {} for silent data corruption", format_clock(corruption))
          : "");
}

std::string verdict_text(LineVerdict verdict, const Style& style) {
  const std::string word(name_of(verdict));
  if (verdict == LineVerdict::pass) return style.green(word);
  return verdict == LineVerdict::fail ? style.red(word) : style.yellow(word);
}

}  // namespace

std::vector<Option> acceptance_options() {
  return {
      {"--limits", "FILE", "limits to judge by; default: those of this kind of device", "file"},
      {"--device", "NAME", "only this device, e.g. hip:3; default: all of the best backend",
       "cuda hip"},
      {"--shared", "", "also if other processes use the devices' memory", ""},
      {"--sdc", "TIME", "time for the test for silent data corruption, 0s for none", ""},
      {"--out", "DIR", "folder for the records, - for none", "folder", false, "--output"},
      {"--with-serials", "", "name the host and the GPUs' serial numbers in the result", ""},
  };
}

Status read_acceptance(const Arguments& arguments, AcceptanceRequest& request) {
  if (arguments.has("--sdc")) {
    const std::string text = arguments.get("--sdc");
    const auto seconds = text == "0" || text == "0s" ? Result<double>(0) : parse_duration(text);
    if (!seconds.ok()) return about("--sdc", seconds.error());
    request.corruption_seconds = *seconds;
  }
  request.folder = arguments.get("--out", request.folder);
  request.shared = arguments.has("--shared");
  request.with_serials = arguments.has("--with-serials");
  return {};
}

Result<Acceptance> accept_machine(const AcceptanceRequest& request, const Arguments& arguments,
                                  const Diagnosis& diagnosis, Terminal& terminal) {
  const std::vector<DeviceFacts> devices = TRY(accepted_devices(arguments.get("--device")));
  const health::Limits limits = arguments.has("--limits")
                                    ? TRY(health::load_limits(arguments.get("--limits")))
                                    : TRY(health::limits_of_device(devices.front().name));
  if (!health::is_about(limits, devices.front().name, "")) {
    terminal.note(fmt::format("these limits are about {}, not about {}\n",
                              fmt::join(limits.devices, ", "), devices.front().name));
  }
  const double measuring = request.seconds - request.corruption_seconds;
  const bool emulated = devices.front().emulated;
  const health::AcceptancePlan plan =
      emulated ? health::AcceptancePlan()
               : health::plan_acceptance(limits, request.thoroughness, devices, measuring);
  terminal.note(announcement(devices, limits, plan, request));
  std::vector<Descriptor> locks;
  if (!plan.steps.empty()) locks = TRY(hold(devices, request.shared));
  Acceptance acceptance;
  acceptance.begin = utc_now();
  const auto begin = std::chrono::steady_clock::now();
  acceptance.machine = machine_text(diagnosis);
  for (const DeviceFacts& facts : devices) {
    acceptance.devices.push_back(fmt::format("{} ({})", health::device_label(facts), facts.name));
  }
  if (request.with_serials) {
    acceptance.host = host_name();
    for (const Gpu& gpu : diagnosis.gpus) {
      if (!gpu.serial.empty()) acceptance.serials.push_back(gpu.serial);
    }
  }
  acceptance.limits_name = limits.name;
  acceptance.limits_description = limits.description;
  acceptance.not_covered = limits.not_covered;
  acceptance.version = fmt::format("assay {} ({})", version(), git_hash());
  acceptance.command = command_of(request, arguments);
  Collected collected;
  std::map<std::string, std::string> problems;  // of devices
  for (const DeviceFacts& facts : devices) problems[health::device_name(facts)];
  for (std::size_t i = 0; i < plan.steps.size() && !interrupt_requested(); ++i) {
    const health::AcceptanceStep& step = plan.steps[i];
    double left = std::numeric_limits<double>::infinity();
    if (request.deadline) {
      left = std::chrono::duration<double>(*request.deadline - std::chrono::steady_clock::now())
                 .count();
    }
    if (left <= 0) break;
    terminal.note(fmt::format("{} of {}: {}, at most {}\n", i + 1, plan.steps.size(), step.what,
                              format_clock(step.seconds)));
    const std::string problem = TRY(run_step(step, request.folder, left, collected, terminal));
    if (!problem.empty() && !step.device.empty()) problems[step.device] = problem;
  }
  locks.clear();  // for the test for silent data corruption, which holds them itself
  if (request.corruption_seconds > 0 && !interrupt_requested()) {
    terminal.note(
        fmt::format("silent data corruption: {}\n", format_clock(request.corruption_seconds)));
    const std::string device = arguments.get("--device", devices.front().backend);
    acceptance.corruption = TRY(test_corruption(request, device, devices.size(), terminal));
  }
  acceptance.interrupted = interrupt_requested();
  for (const Record& record : collected.records) {
    if (acceptance.fingerprint.empty()) acceptance.fingerprint = record.fingerprint;
    if (std::find(acceptance.runs.begin(), acceptance.runs.end(), record.run) ==
        acceptance.runs.end()) {
      acceptance.runs.push_back(record.run);
    }
  }
  if (request.folder != pipe) acceptance.folder = request.folder;
  acceptance.records_hash = sha256_hex(collected.lines);
  health::MachineFacts facts = health::read_machine_facts(this_machine(), diagnosis);
  facts.emulated = emulated;
  if (!emulated) facts.devices = problems;
  for (const health::LimitLine& line :
       health::left_out_lines(limits, request.thoroughness, collected.records, facts)) {
    acceptance.not_covered.push_back(
        fmt::format("{}: {}", line.what(), health::why_left_out(line)));
  }
  acceptance.lines = health::judge_machine(limits, request.thoroughness, collected.records, facts);
  acceptance.seconds = seconds_since(begin);
  return acceptance;
}

std::string acceptance_text(const Acceptance& acceptance, std::size_t width, const Style& style) {
  Table table({{""}, {"line"}, {"limit"}, {"found"}, {"kind, date", Column::Align::left, 1}});
  std::string doubts;
  for (const LineVerdict verdict : {LineVerdict::fail, LineVerdict::unknown, LineVerdict::pass}) {
    for (const JudgedLine& judged : acceptance.lines) {
      if (judged.verdict != verdict) continue;
      const health::LimitLine& line = judged.line;
      table.add({verdict_text(verdict, style), line.what(), line.limit_text(), judged.found_text(),
                 line.check.empty() ? fmt::format("{}, {}", name_of(line.kind), line.date) : ""});
      if (verdict == LineVerdict::pass || line.doubts.empty()) continue;
      doubts +=
          wrapped(fmt::format("  doubt about {}: {}", line.what(), line.doubts), 4, width) + "\n";
    }
  }
  std::string text = table.render(width, style) + "\n" + doubts;
  const CorruptionTest& corruption = acceptance.corruption;
  if (!corruption.verdict.empty()) {
    text +=
        wrapped(fmt::format("silent data corruption: {} ({}){}", corruption.verdict, corruption.why,
                            corruption.file.empty() ? "" : "; all of it: " + corruption.file),
                2, width) +
        "\n";
  }
  for (const std::string& one : acceptance.not_covered) {
    text += wrapped("not tested: " + one, 2, width) + "\n";
  }
  const auto count_of = [&](LineVerdict verdict) {
    return std::count_if(acceptance.lines.begin(), acceptance.lines.end(),
                         [&](const JudgedLine& line) { return line.verdict == verdict; });
  };
  return text + fmt::format("{}: {} passed, {} failed, {} unknown, in {}\n",
                            verdict_text(acceptance.verdict(), style), count_of(LineVerdict::pass),
                            count_of(LineVerdict::fail), count_of(LineVerdict::unknown),
                            format_clock(acceptance.seconds));
}

}  // namespace assay::cli
