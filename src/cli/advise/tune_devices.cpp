#include "cli/advise/tune_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <string_view>
#include <thread>

#include "advise/tune/tuning_journal.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/option_values.h"
#include "core/background_program.h"
#include "core/mutex.h"
#include "core/own_binary.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

/// This variable is set for the processes of tune_on_each(). It tells them apart from a process
/// that a user started with --part, which also does what follows the measurements.
constexpr const char* parent_variable = "ASSAY_TUNE_PARENT";

/// The command line that starts this program for one device.
std::vector<std::string> words_for_device(const Arguments& arguments, const std::string& binary) {
  std::vector<std::string> words = {binary, "tune"};
  const Command* const command =
      find_command(fmt::format("tune {}", arguments.positionals.front()));
  std::set<std::string_view> flags;
  for (const Option& option : all_options(*command)) {
    if (option.value.empty()) flags.insert(option.name);
  }
  words.insert(words.end(), arguments.positionals.begin(), arguments.positionals.end());
  for (const auto& [name, value] : arguments.options) {
    if (name == "--devices" || name == "--device" || name == "--out" || name == "--json" ||
        name == "--check-pytorch" || name == "--color" || name == "--part") {
      continue;
    }
    for (const std::string& one : arguments.all(name)) {
      words.push_back(name);
      if (!flags.contains(name)) words.push_back(one);
    }
  }
  return words;
}

struct DeviceProcess {
  std::string device;
  fs::path folder;
  std::vector<std::string> lines;  // lines of its standard error; guarded by `mutex`
  std::unique_ptr<BackgroundProgram> program;
};
using DeviceProcesses = std::vector<std::unique_ptr<DeviceProcess>>;

/// Shows the standard error of the processes until all have ended. False: the user stopped them.
bool wait_for(const DeviceProcesses& processes, Mutex& mutex, Terminal& terminal) {
  bool stopping = false;
  for (bool running = true; running;) {
    running = false;
    for (const auto& process : processes) {
      if (!process->program->ended()) running = true;
      if (interrupt_requested() && !stopping) process->program->stop();
      std::vector<std::string> lines;
      {
        const MutexLock lock(mutex);
        lines.swap(process->lines);
      }
      for (const std::string& line : lines) {
        terminal.note(fmt::format("{}: {}\n", process->device, line));
      }
    }
    stopping = stopping || interrupt_requested();
    if (running) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return !stopping;
}

}  // namespace

std::vector<std::string> TunePlace::device_names(
    const std::vector<std::unique_ptr<Backend>>& backends, std::string_view backend) const {
  if (devices.size() != 1 || devices.front() != "all") return devices;
  std::vector<std::string> names;
  for (const auto& one : backends) {
    if (one->name() != backend) continue;
    for (const DeviceFacts& facts : one->devices()) {
      names.push_back(fmt::format("{}:{}", facts.backend, facts.ordinal));
    }
  }
  return names;
}

Result<TunePlace> read_tune_place(const Arguments& arguments) {
  TunePlace place;
  place.for_parent = std::getenv(parent_variable) != nullptr;
  place.device = arguments.get("--device");
  place.folder = arguments.get("--out", "tuning");
  if (arguments.has("--devices")) place.devices = split(arguments.get("--devices"), ',');
  if (arguments.has("--part")) {
    const auto words = split(arguments.get("--part"), '/');
    if (words.size() != 2) {
      return Error{ErrorKind::usage, "--part is not allowed so; allowed: I/N, e.g. 0/8"};
    }
    place.parts = static_cast<std::size_t>(TRY(whole_number("--part", words[1], 1, 4096)));
    place.part =
        static_cast<std::size_t>(TRY(whole_number("--part", words[0], 0, place.parts - 1)));
  }
  return place;
}

void note_left_out(const std::vector<std::string>& left_out, std::size_t count,
                   Terminal& terminal) {
  for (const std::string& one : left_out) terminal.note(fmt::format("left out: {}\n", one));
  if (count > left_out.size()) {
    terminal.note(fmt::format("and {} more\n", count - left_out.size()));
  }
}

Result<std::vector<fs::path>> tune_on_each(const Arguments& arguments, const TunePlace& place,
                                           const std::vector<std::string>& devices,
                                           const std::vector<std::string>& more,
                                           Terminal& terminal) {
  const std::vector<std::string> words = words_for_device(arguments, TRY(own_binary()));
  Mutex mutex;
  DeviceProcesses processes;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    auto process = std::make_unique<DeviceProcess>();
    process->device = devices[i];
    std::string name = devices[i];
    std::replace(name.begin(), name.end(), ':', '-');
    process->folder = fs::path(place.folder) / name;
    ProgramStart start;
    start.words = words;
    start.words.insert(start.words.end(), more.begin(), more.end());
    start.words.insert(
        start.words.end(),
        {"--device", devices[i], "--out", process->folder.string(), "--part",
         fmt::format("{}/{}", place.part + place.parts * i, place.parts * devices.size()),
         "--json"});
    start.variables = {{parent_variable, "1"}};
    start.error_line = [&mutex, raw = process.get()](std::string_view line) {
      const MutexLock lock(mutex);
      raw->lines.emplace_back(line);
    };
    process->program = std::make_unique<BackgroundProgram>(std::move(start));
    processes.push_back(std::move(process));
  }
  if (!wait_for(processes, mutex, terminal)) return stopped_tuning();
  std::vector<fs::path> folders;
  for (const auto& process : processes) {
    const Result<ProgramEnd>* end = process->program->end();
    if (end == nullptr || !end->ok() ||
        ((*end)->status != exit_ok && (*end)->status != exit_nothing_ran)) {
      return Error{ErrorKind::failed,
                   fmt::format("the process of {} failed: {}", process->device,
                               end != nullptr && end->ok() ? last_line((*end)->errors_tail)
                                                           : "it could not be started")};
    }
    folders.push_back(process->folder);
  }
  return folders;
}

}  // namespace assay::cli
