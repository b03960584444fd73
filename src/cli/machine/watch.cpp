// assay watch: what all accelerators and the CPUs do, live.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/machine/watch_view.h"
#include "core/json.h"
#include "core/units.h"
#include "machine/system/affinity.h"
#include "measure/sampling/runner.h"

namespace assay::cli::watch_command {
namespace {

using Clock = std::chrono::steady_clock;

struct Request {
  double interval = 1;
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
  bool json = false;
};

Result<Request> read_request(const Arguments& arguments) {
  Request request;
  request.json = arguments.has("--json");
  if (arguments.has("--interval")) {
    std::string text = arguments.get("--interval");
    if (text.find_first_not_of("0123456789.") == std::string::npos) text += "s";
    const auto interval = parse_duration(text);
    if (!interval.ok()) {
      return Error{interval.error().kind, "--interval: " + interval.error().message};
    }
    request.interval = *interval;
  }
  if (arguments.has("--count")) {
    const auto count = parse_integer(arguments.get("--count"));
    if (!count.ok()) return Error{count.error().kind, "--count: " + count.error().message};
    request.count = *count;
  }
  return request;
}

Snapshot read(const TelemetrySources& sources) {
  Snapshot snapshot{utc_now(), 0, read_sources(sources, true)};
  snapshot.second = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  return snapshot;
}

/// Sleeps until `until`; a signal wakes it early.
void sleep_until(Clock::time_point until) {
  while (!interrupt_requested() && Clock::now() < until) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(until - Clock::now());
    const timespec wait = {left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    if (left.count() > 0) ::nanosleep(&wait, nullptr);
  }
}

int watch(const Request& request, Terminal& terminal) {
  TelemetryRequest all;
  all.cpus = affinity_cpus();
  const TelemetrySources sources = open_telemetry_sources(std::move(all));
  const std::vector<Channel> channels = channels_of(sources);
  catch_interrupts();
  const bool in_place = !request.json && terminal.width() > 0 && terminal.interactive();
  const auto interval =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(request.interval));
  std::optional<Snapshot> before;
  std::ptrdiff_t lines = 0;  // lines of the table on screen
  Clock::time_point next = Clock::now();
  for (std::uint64_t i = 0; i < request.count && !interrupt_requested(); ++i) {
    Snapshot now = read(sources);
    if (request.json) {
      terminal.print(watch_json(channels, now).dump() + "\n");
    } else {
      const std::string text =
          watch_text(channels, now, before ? &*before : nullptr,
                     static_cast<std::size_t>(terminal.width()), terminal.out_style());
      terminal.print_over(in_place ? lines : 0, text);
      lines = std::count(text.begin(), text.end(), '\n');
    }
    terminal.flush();
    if (terminal.output_failed()) break;
    before = std::move(now);
    next += interval;
    if (i + 1 < request.count) sleep_until(next);
  }
  return exit_ok;  // Ctrl-C is the normal way to end
}

int run(const Arguments& arguments, Terminal& terminal) {
  const auto request = read_request(arguments);
  return request.ok() ? watch(*request, terminal) : report(terminal, request.error());
}

const Command command = {
    .name = "watch",
    .summary = "Show clocks, power, temperature and throttling of all GPUs and the CPUs, live",
    .positionals = "",
    .details =
        R"(Redraws a table in place on a terminal, and prints one table after another elsewhere; with
--json every reading is a line with all channels. Channels that cannot be read on this machine,
or with these privileges, are left out. Ctrl-C ends it.

capped: share of time in which driver or firmware lowered the clock for power or temperature.

  assay watch
  assay watch --interval 0.1 --count 600 --json > log.jsonl

)",
    .options =
        {
            {"--interval", "SECONDS", "time between readings, e.g. 0.1 or 500ms; default 1", ""},
            {"--count", "N", "end after N readings; default: never", ""},
        },
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::watch_command
