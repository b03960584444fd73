#include "measure/sampling/runner.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>

#include "core/units.h"
#include "core/watchdog.h"
#include "machine/system/affinity.h"
#include "measure/sampling/derive_value.h"
#include "measure/sampling/external.h"
#include "measure/sampling/team_results.h"
#include "ranks/collective/communicators.h"
#include "ranks/team/agreement.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

RecordStatus status_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::unsupported:
    case ErrorKind::unavailable:
      return RecordStatus::unsupported;
    case ErrorKind::verification:
      return RecordStatus::failed;
    case ErrorKind::interrupted:
      return RecordStatus::interrupted;
    default:
      return RecordStatus::error;
  }
}

/// The total work of all samples, including the launches in their lead-ins.
WorkDone work_done(const Record& record, const Case& work) {
  WorkDone done;
  done.on_cpu = record.device.is_host_cpu();
  const int launches = record.samples->launches + work.lead_in_launches();
  for (const Sample& sample : record.samples->samples) {
    done.seconds += sample.seconds * record.work->repetitions * launches;
    done.bytes += record.work->bytes * launches;
    done.flops += record.work->flops * launches;
  }
  return done;
}

/// The state of one run.
class Runner {
 public:
  Runner(Device& device, const RunOptions& options, RunObserver& observer, Sampler& sampler,
         Team& team, std::vector<std::string> rank_devices)
      : device_(device),
        options_(options),
        observer_(observer),
        sampler_(sampler),
        team_(team),
        rank_devices_(std::move(rank_devices)),
        telemetry_(start_telemetry(device.facts(), options.telemetry_interval)) {}

  Result<RunOutcome> run(const std::vector<Cell>& cells) {
    RunOutcome outcome;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::optional<double> share = TRY(next_share(cells.size() - i));
      if (!share) {
        outcome.interrupted = true;
        break;
      }
      observer_.starting(i, cells[i]);
      if (team_.rank() > 0 && find_benchmark(cells[i].benchmark()) == nullptr) {
        continue;  // an external command, which rank 0 rejects for a team
      }
      const ExternalCommand* command = command_of(cells[i]);
      if (command != nullptr) {
        TRY(measure_external(i, *command, *share));
        ++outcome.measured;
        continue;
      }
      Record record = blank_record(cells[i]);
      watch(i, cells[i]);
      met_ = false;
      const Status measured = measure(record, i, *share);
      watchdog_.reset();
      if (options_.barrier && !met_) TRY(options_.barrier->arrive(i));
      if (!measured.ok()) {
        record.status = status_of(measured.error());
        record.reason = measured.error().message;
      }
      record.time = utc_now();
      if (record.value) {
        values_[record.cell.benchmark()].push_back(
            {cells[i], record.value->median, record.value->interval95, record.metrics});
      }
      ++outcome.measured;
      TRY(observer_.finished(i, std::move(record)));
      TRY(team_.check_alive());
    }
    if (!outcome.interrupted) outcome.interrupted = TRY(was_any_rank_stopped());
    for (const auto& [name, values] : values_) {
      for (Conclusion& conclusion : find_benchmark(name)->conclusions(values)) {
        outcome.conclusions.push_back(std::move(conclusion));
      }
    }
    return outcome;
  }

 private:
  Record blank_record(const Cell& cell) const {
    Record record;
    record.run = options_.run;
    record.fingerprint = options_.fingerprint;
    record.cell = cell;
    record.device = device_.facts();
    return record;
  }

  /// Starts the watchdog until the end of the cell. A CPU does not hang.
  void watch(std::size_t index, const Cell& cell) {
    if (device_.facts().is_host_cpu()) return;
    const double allowed = options_.device_patience_seconds;
    watchdog_.emplace(allowed, [this, index, cell, allowed] {
      Record record = blank_record(cell);
      record.status = RecordStatus::error;
      record.time = utc_now();
      record.reason = fmt::format(
          "{} has not finished a step of this cell within {}: it hangs, or "
          "needs a longer --patience",
          record.device.backend + ':' + std::to_string(record.device.ordinal),
          format_seconds(allowed));
      observer_.hung(index, std::move(record));
    });
  }

  /// Polled between steps, so each call shows the watchdog that the device still makes progress.
  bool stop_requested() {
    if (watchdog_) watchdog_->progress();
    return observer_.stop_requested();
  }

  double remaining_seconds() const {
    if (options_.only_check) return 0;
    if (!options_.budget_seconds) return std::numeric_limits<double>::infinity();
    const std::chrono::duration<double> spent = Clock::now() - begin_;
    return *options_.budget_seconds - spent.count();
  }

  const ExternalCommand* command_of(const Cell& cell) const {
    for (const ExternalCommand& command : options_.commands) {
      if (command.name == cell.benchmark()) return &command;
    }
    return nullptr;
  }

  /// Seconds of the budget for the next of `left` cells, the same on all ranks; empty if the run
  /// ends here because a rank was asked to stop.
  Result<std::optional<double>> next_share(std::size_t left) {
    const double share = remaining_seconds() / static_cast<double>(left);
    const bool stop = observer_.stop_requested();
    if (team_.size() == 1) return stop ? std::nullopt : std::optional(share);
    constexpr std::string_view end = "end";
    const std::string decided = TRY(team_.decide(
        "beginning the next cell", stop ? std::string(end) : fmt::format("{}", share),
        [&](const std::vector<std::string>& given) {
          return std::count(given.begin(), given.end(), end) > 0 ? std::string(end) : given.front();
        }));
    if (decided == end) return std::optional<double>();
    return std::optional(std::strtod(decided.c_str(), nullptr));
  }

  /// Returns whether a rank was asked to stop, also during the last cell.
  Result<bool> was_any_rank_stopped() {
    constexpr std::string_view stopped = "stopped";
    const auto answers = TRY(team_.exchange(
        "ending the run", observer_.stop_requested() ? std::string(stopped) : std::string()));
    return std::count(answers.begin(), answers.end(), stopped) > 0;
  }

  Error budget_spent() const {
    if (options_.only_check) return {ErrorKind::interrupted, "it was checked and not measured"};
    // Only rank 0 has a budget; other ranks learn from the share they receive that it is spent.
    return {ErrorKind::interrupted, options_.budget_seconds
                                        ? fmt::format("the budget of {} was spent before this cell",
                                                      format_seconds(*options_.budget_seconds))
                                        : "the budget was spent before this cell"};
  }

  /// Waits for the other processes at the barrier, once per cell.
  Status meet(std::size_t index) {
    if (!options_.barrier) return {};
    met_ = true;
    TRY(options_.barrier->arrive(index));
    return options_.barrier->wait(index, [this] { return stop_requested(); });
  }

  /// Measures an external command. Error: only an observer's; errors of the command go into its
  /// record.
  Status measure_external(std::size_t index, const ExternalCommand& command, double seconds) {
    const Record blank = blank_record(Cell(command.name, {}));
    const auto run = [&]() -> Result<std::vector<Record>> {
      TRY(meet(index));
      if (team_.size() > 1) return not_by_ranks(command.name);
      if (options_.only_check) TRY(check_external(command, [this] { return stop_requested(); }));
      if (seconds <= 0) return budget_spent();
      return run_external(command, blank, [this] { return stop_requested(); });
    };
    const auto begin = Clock::now();
    auto records = run();
    if (!records.ok()) {
      Record record = blank;
      record.status = status_of(records.error());
      record.reason = records.error().message;
      records = std::vector<Record>{std::move(record)};
    }
    // The traces of a long program are large, so only its first record gets them.
    if (telemetry_ != nullptr) {
      Telemetry telemetry;
      telemetry.trace = telemetry_->slice(begin, Clock::now());
      telemetry.summary = summarize_telemetry(telemetry.trace, WorkDone{});
      records->front().telemetry = std::move(telemetry);
    }
    for (Record& record : *records) {
      record.time = utc_now();
      TRY(observer_.finished(index, std::move(record)));
    }
    return {};
  }

  /// Measures a cell and fills in its record as far as it gets; the caller turns an Error into
  /// status and reason.
  Status measure(Record& record, std::size_t index, double seconds) {
    const Benchmark& benchmark = *find_benchmark(record.cell.benchmark());
    TRY(agree(team_, "checking " + record.cell.id(), supported(benchmark, record.cell)));
    if (seconds <= 0) return budget_spent();
    const auto begin = Clock::now();
    const std::function<bool()> stop = [this] { return stop_requested(); };
    auto prepared_work = benchmark.prepare(
        record.cell, {device_, sampler_.stream(), options_.seed, team_, communicators_, stop});
    TRY(agree(team_, "preparing " + record.cell.id(),
              prepared_work.ok() ? Status() : Status(prepared_work.error())));
    const std::unique_ptr<Case> work = std::move(*prepared_work);
    record.work = work->work();
    record.notes = work->notes();
    const std::chrono::duration<double> prepared = Clock::now() - begin;
    // An expensive preparation must not leave a cell without samples, so at least half of its share
    // remains for them, at the expense of other cells.
    const double left = std::max(seconds - prepared.count(), seconds / 2);
    SamplingLimits limits = limits_within(options_.limits, left);
    if (options_.barrier)
      limits.precision = 0;  // never reached, so that the time box ends the sampling
    // Only rank 0 knows of the barrier. Without this agreement the others would begin to sample and
    // wait for it on their devices.
    TRY(agree(team_, "meeting the other environments at " + record.cell.id(), meet(index)));
    record.samples =
        TRY(free_of_hanging(sampler_.take(*work, limits, [this] { return stop_requested(); })));
    TRY(free_of_hanging(work->keep(sampler_.stream())));
    summarize_samples(record);
    take_telemetry(record, *work);
    record.ranks = results_of_ranks(team_, rank_devices_, *record.samples);
    take_notes(record, *work);
    if (record.samples->stop == StopReason::interrupted || !record.seconds) {
      return stopped_early(*work, *record.samples);
    }
    record.verification =
        TRY(free_of_hanging(agree_on_verification(team_, work->verify(sampler_.stream()))));
    if (!record.verification->passed) {
      return Error{ErrorKind::verification,
                   record.verification->detail.empty()
                       ? "verification failed: " + record.verification->method
                       : record.verification->detail};
    }
    TRY(free_of_hanging(work->measure_costs(sampler_.stream())));
    take_notes(record, *work);
    record.value =
        value_of(*record.seconds, *record.work, work->quantity(), work->limit(), device_.facts());
    record.metrics = work->metrics(*record.seconds);
    record.curves = work->curves();
    add_energy(record);
    record.status = RecordStatus::passed;
    return {};
  }

  /// Called repeatedly, because a case may add notes while it runs and is verified.
  static void take_notes(Record& record, const Case& work) {
    record.notes = work.notes();
    for (auto& note : notes_on_ranks(record.ranks)) record.notes.push_back(std::move(note));
  }

  static Error stopped_early(const Case& work, const SampleSet& samples) {
    const auto fixed = work.fixed_samples();
    return {ErrorKind::interrupted,
            fixed ? fmt::format("stopped after {} of {} samples", samples.samples.size(), *fixed)
                  : "stopped before enough samples were taken"};
  }

  /// Work that waits for a lost rank must end before its buffers can be freed.
  template <typename T>
  Result<T> free_of_hanging(Result<T> result) {
    if (!result.ok() && !team_.check_alive().ok()) {
      communicators_.abort();
      (void)sampler_.stream().synchronize();  // `result` already says what failed
    }
    return result;
  }

  static Error not_by_ranks(std::string_view name) {
    return {ErrorKind::unsupported,
            fmt::format("{} measures one process; run it without --ranks, --hosts or a launcher of "
                        "several ranks",
                        name)};
  }

  Status supported(const Benchmark& benchmark, const Cell& cell) const {
    if (team_.size() > 1 && !benchmark.takes_team()) {
      return not_by_ranks(benchmark.name());
    }
    if (auto reason = benchmark.unsupported(cell, device_)) {
      return Error{ErrorKind::unsupported, std::move(*reason)};
    }
    return options_.only_check ? benchmark.check_files(cell, device_, team_) : Status();
  }

  static void summarize_samples(Record& record) {
    std::vector<double> seconds;
    for (const Sample& sample : record.samples->samples) seconds.push_back(sample.seconds);
    if (!seconds.empty()) record.seconds = summarize(seconds);
  }

  void take_telemetry(Record& record, const Case& work) {
    if (telemetry_ == nullptr || record.samples->samples.empty()) return;
    Telemetry telemetry;
    telemetry.trace = telemetry_->slice(record.samples->begin, record.samples->end);
    telemetry.summary = summarize_telemetry(telemetry.trace, work_done(record, work));
    record.telemetry = std::move(telemetry);
  }

  /// Adds the energy per token, for work that counts tokens.
  static void add_energy(Record& record) {
    if (!record.telemetry || record.work->tokens <= 0) return;
    const auto per_flop = record.telemetry->summary.joules_per_flop;
    if (!per_flop) return;
    record.metrics.push_back(
        {.name = "energy_per_token",
         .value = *per_flop * record.work->flops * record.work->ranks / record.work->tokens,
         .unit = "J",
         .better = Better::lower,
         .text = ""});
  }

  Device& device_;
  const RunOptions& options_;
  RunObserver& observer_;
  Sampler& sampler_;
  Team& team_;
  Communicators communicators_{device_, team_};
  const std::vector<std::string> rank_devices_;         // indexed by rank; empty without a team
  const std::unique_ptr<TelemetryRecorder> telemetry_;  // null: off
  const Clock::time_point begin_ = Clock::now();
  std::map<std::string, std::vector<CellValue>> values_;  // keyed by benchmark
  bool met_ = false;  // whether this process has reached the barrier for the current cell
  std::optional<Watchdog> watchdog_;  // watches the current cell
};

}  // namespace

std::unique_ptr<TelemetryRecorder> start_telemetry(const DeviceFacts& facts, double interval) {
  if (interval <= 0) return nullptr;
  TelemetryRequest request;
  request.hardware =
      facts.pci.empty() ? fmt::format("{}:{}", facts.backend, facts.ordinal) : facts.pci;
  request.cpus = affinity_cpus();
  return std::make_unique<TelemetryRecorder>(open_telemetry_sources(std::move(request)), interval);
}

SamplingLimits limits_within(SamplingLimits limits, double seconds) {
  // A fifth goes to the warm-up and half to the samples; the rest is for preparing and verifying.
  constexpr double least = 0.01;
  limits.warmup_seconds = std::clamp(seconds / 5, least, limits.warmup_seconds);
  limits.time_box_seconds = std::clamp(seconds / 2, least, limits.time_box_seconds);
  limits.sustained_time_box_seconds =
      std::clamp(seconds / 2, least, limits.sustained_time_box_seconds);
  limits.budget_seconds = std::max(seconds, least);
  return limits;
}

Result<RunOutcome> run_cells(const std::vector<Cell>& cells, Device& device,
                             const RunOptions& options, RunObserver& observer, Team& team) {
  for (const Cell& cell : cells) {
    if (team.rank() > 0) break;  // rank 0 checks the cells for all
    const auto is_named = [&](const ExternalCommand& c) { return c.name == cell.benchmark(); };
    if (find_benchmark(cell.benchmark()) == nullptr &&
        std::none_of(options.commands.begin(), options.commands.end(), is_named)) {
      return Error{ErrorKind::usage, fmt::format("unknown benchmark {}", cell.benchmark())};
    }
  }
  auto sampler = Sampler::create(device, team);
  TRY(agree(team, "starting", sampler.ok() ? Status() : Status(sampler.error())));
  std::vector<std::string> devices = TRY(devices_of_ranks(team, device.facts()));
  return Runner(device, options, observer, **sampler, team, std::move(devices)).run(cells);
}

std::string new_run_id() {
  const auto now =
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  // This is the only randomness without a seed, and it only names the run.
  std::random_device device;
  return fmt::format("{:%Y%m%dT%H%M%SZ}-{:04x}{:08x}", fmt::gmtime(now), device() & 0xffff,
                     device());
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::now();
  const auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(now);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now - seconds).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), milliseconds);
}

}  // namespace assay
