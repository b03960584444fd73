// assay watch: what all accelerators and the CPUs do, live, on the screen or for Prometheus.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/machine/watch_exporter.h"
#include "cli/machine/watch_metrics.h"
#include "cli/machine/watch_view.h"
#include "core/json.h"
#include "core/units.h"
#include "core/write_file.h"
#include "machine/system/affinity.h"
#include "measure/sampling/runner.h"
#include "results/store/store.h"
#include "serving/server/server_endpoints.h"

namespace assay::cli::watch_command {
namespace {

using Clock = std::chrono::steady_clock;

struct Request {
  double interval = 1;
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
  bool json = false;
  std::string listen, textfile, store;  ///< empty: not given
};

Result<Request> read_request(const Arguments& arguments) {
  Request request;
  request.json = arguments.has("--json");
  if (arguments.has("--interval")) {
    std::string text = arguments.get("--interval");
    if (text.find_first_not_of("0123456789.") == std::string::npos) text += "s";
    const auto interval = parse_duration(text);
    if (!interval.ok()) {
      return about("--interval", interval.error());
    }
    request.interval = *interval;
  }
  if (arguments.has("--count")) {
    const auto count = parse_integer(arguments.get("--count"));
    if (!count.ok()) return about("--count", count.error());
    request.count = *count;
  }
  request.listen = arguments.get("--listen");
  request.textfile = arguments.get("--textfile");
  request.store = arguments.get("--store");
  if (!request.listen.empty() && (!request.textfile.empty() || arguments.has("--count"))) {
    return Error{ErrorKind::usage, "--listen excludes --textfile and --count"};
  }
  const bool exports = !request.listen.empty() || !request.textfile.empty();
  if (!request.store.empty() && !exports) {
    return Error{ErrorKind::usage, "--store needs --listen or --textfile; assay show shows it"};
  }
  if (exports && request.json) {
    return Error{ErrorKind::usage, "--json excludes --listen and --textfile"};
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

/// The store whose newest results are exported; it is read again when its file has changed.
class ExportedStore {
 public:
  explicit ExportedStore(const std::string& store) : store_(store) {}

  std::span<const Record> records() {
    namespace fs = std::filesystem;
    if (store_.empty()) return {};
    std::error_code missing;
    const fs::path file = fs::is_directory(store_, missing) ? store_ / "records.jsonl" : store_;
    const auto written = fs::last_write_time(file, missing);
    if (missing || written == written_) return records_;
    auto stored = read_records(store_, Detail::summary);
    if (!stored.ok()) return records_;  // another program may be replacing it
    written_ = written;
    records_ = std::move(stored->records);
    return records_;
  }

 private:
  const std::filesystem::path store_;
  std::filesystem::file_time_type written_ = {};
  std::vector<Record> records_;
};

/// Pages of metrics. Scrapers that ask within `interval` get the same readings.
class Exporter {
 public:
  Exporter(const Request& request, MetricsFormat format)
      : interval_(request.interval), format_(format), store_(request.store) {
    TelemetryRequest all;
    all.cpus = affinity_cpus();
    sources_ = open_telemetry_sources(std::move(all));
    channels_ = channels_of(sources_);
  }

  std::string page() {
    const double now = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
    if (!last_ || now - last_->second >= interval_) last_ = read(sources_);
    return watch_metrics(channels_, *last_, store_.records(), format_);
  }

 private:
  const double interval_;
  const MetricsFormat format_;
  ExportedStore store_;
  TelemetrySources sources_;
  std::vector<Channel> channels_;
  std::optional<Snapshot> last_;
};

Status listen(const Request& request, Terminal& terminal) {
  Exporter exporter(request, MetricsFormat::open_metrics);
  catch_interrupts();
  return serve_metrics(
      request.listen, [&] { return exporter.page(); },
      [&](const std::string& url) {
        terminal.note(server::reach_note(request.listen.substr(0, request.listen.rfind(':'))));
        terminal.print("listening on " + url + "\n");
        terminal.flush();
      },
      &interrupt_requested);
}

Status write_textfile(const Request& request) {
  Exporter exporter(request, MetricsFormat::text);
  TRY(check_writable(request.textfile));
  catch_interrupts();
  const auto interval =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(request.interval));
  Clock::time_point next = Clock::now();
  for (std::uint64_t i = 0; i < request.count && !interrupt_requested(); ++i) {
    TRY(write_file(request.textfile, exporter.page()));
    next += interval;
    if (i + 1 < request.count) sleep_until(next);
  }
  return {};
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
      terminal.print(json_line(watch_json(channels, now)) + "\n");
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
  if (!request.ok()) return report(terminal, request.error());
  if (request->listen.empty() && request->textfile.empty()) return watch(*request, terminal);
  const Status status =
      request->listen.empty() ? write_textfile(*request) : listen(*request, terminal);
  return status.ok() ? exit_ok : report(terminal, status.error());
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

--listen serves the readings as OpenMetrics to Prometheus, at most one reading for each interval;
--textfile keeps them in a file, for node_exporter's textfile collector. With --store the page also
has the newest verified result of each cell, with its interval.

  assay watch
  assay watch --listen 127.0.0.1:9400 --store assay-results
  assay watch --textfile /var/lib/node_exporter/assay.prom --interval 15 --store assay-results
  assay watch --interval 0.1 --count 600 --json > log.jsonl

)",
    .options =
        {
            {"--interval", "SECONDS", "time between readings, e.g. 0.1 or 500ms; default 1", ""},
            {"--count", "N", "end after N readings; default: never", ""},
            {"--listen", "ADDRESS:PORT", "serve metrics to Prometheus there, at /metrics", ""},
            {"--textfile", "FILE", "write metrics into FILE at each reading", "file"},
            {"--store", "FOLDER", "also export the newest results of this store", "folder"},
        },
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::watch_command
