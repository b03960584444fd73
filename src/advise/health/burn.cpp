#include "advise/health/burn.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "core/json.h"
#include "core/json_text.h"
#include "core/optional_json_members.h"
#include "core/units.h"
#include "machine/telemetry/summary.h"
#include "measure/sampling/runner.h"
#include "results/store/json_reader.h"

namespace assay::health {
namespace {

constexpr std::array<std::string_view, 5> load_names = {"products", "training", "memory", "copies",
                                                        "all"};

/// Whether a cause that a driver names is heat.
bool is_heat(std::string_view cause) {
  return cause.find("thermal") != std::string_view::npos;
}

/// Follows the work and the device's telemetry, and closes a window every few seconds.
class Observer {
 public:
  Observer(const BurnPlan& plan, const Device& device)
      : plan_(plan), device_(device), recorder_(start_telemetry(device.facts(), tick)) {}

  void repeated(const SdcUnit& unit, double seconds, const Work& work) {
    auto& [count, mean, first] = units_[unit.name];
    // Libraries and clocks settle in the first repetitions, which the calibration runs.
    constexpr std::uint64_t settled = 4;
    if (unit.runs <= settled || first == 0) first = seconds;
    mean += (seconds - mean) / static_cast<double>(++count);
    window_.flops += work.flops;
    window_.bytes += work.bytes;
    expected_ += first;
    taken_ += seconds;
    for (std::string_view causes = reading_.throttle_reasons; !causes.empty();) {
      const std::string_view cause = causes.substr(0, causes.find(','));
      causes.remove_prefix(std::min(causes.size(), cause.size() + 1));
      causes_.emplace(cause);
      if (is_heat(cause)) end_by("thermal slowdown: " + std::string(cause));
    }
    const auto now = Clock::now();
    if (now - sensed_ > std::chrono::seconds(1)) {
      sensed_ = now;
      reading_ = device_.sense();
    }
    if (seconds_between(window_begin_, now) >= plan_.window_seconds) close_window();
  }

  bool has_ended() const { return !ended_by_.empty(); }

  BurnRank finish(int rank) {
    if (taken_ > 0) close_window();
    BurnRank all{.rank = rank, .device = device_.facts().name, .windows = windows_};
    all.ended_by = ended_by_;
    for (const auto& [name, unit] : units_) all.turn_seconds += unit.mean;
    return all;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double tick = 0.2;  // seconds between readings of the telemetry
  struct UnitTimes {
    std::uint64_t count = 0;
    double mean = 0, first = 0;
  };

  static double seconds_between(Clock::time_point begin, Clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
  }

  void end_by(std::string event) {
    if (ended_by_.empty()) ended_by_ = std::move(event);
  }

  void close_window() {
    const auto now = Clock::now();
    window_.begin = seconds_between(begin_, window_begin_);
    window_.seconds = seconds_between(window_begin_, now);
    window_.speed = expected_ / taken_;
    if (recorder_) read_telemetry(recorder_->slice(window_begin_, now));
    for (const std::string& cause : causes_) {
      window_.throttled += (window_.throttled.empty() ? "" : ",") + cause;
    }
    windows_.push_back(window_);
    window_ = {};
    expected_ = taken_ = 0;
    causes_.clear();
    window_begin_ = now;
  }

  void read_telemetry(const TelemetryTrace& trace) {
    for (std::size_t i = 0; i < trace.channels.size(); ++i) {
      const Channel& channel = trace.channels[i];
      const bool throttles = channel.quantity.starts_with("throttle."),
                 errors = channel.quantity == "ecc_uncorrected";
      if (channel.kind != ChannelKind::counter || !(throttles || errors)) continue;
      const auto advance = counter_advance(trace.seconds, trace.values[i], trace.window);
      if (!advance || *advance <= 0) continue;
      if (throttles) causes_.insert(channel.quantity);
      if (is_heat(channel.quantity)) end_by("thermal slowdown: " + channel.quantity);
      if (errors) end_by(fmt::format("{:.0f} uncorrected memory errors", *advance));
    }
    const TelemetrySummary summary = summarize_telemetry(trace, {});
    if (summary.gpus.empty()) {
      window_.clock_hz = summary.host.clock_mean_hz;
      return;
    }
    const GpuTelemetry& gpu = summary.gpus.front().second;
    window_.clock_hz = gpu.clock_mean_hz;
    window_.power_watts = gpu.power_mean_watts;
    window_.temperature_celsius = gpu.temperature_max_celsius;
    window_.throttled_share = gpu.throttled_share;
  }

  const BurnPlan& plan_;
  const Device& device_;
  const std::unique_ptr<TelemetryRecorder> recorder_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point window_begin_ = begin_, sensed_ = {};
  SensorReading reading_;
  std::map<std::string, UnitTimes> units_;
  std::set<std::string> causes_;
  BurnWindow window_;
  double expected_ = 0, taken_ = 0;
  std::vector<BurnWindow> windows_;
  std::string ended_by_;
};

Json to_json(const BurnRank& rank) {
  Json json = {{"rank", rank.rank}, {"device", rank.device}, {"turn_seconds", rank.turn_seconds}};
  put_present(json, "ended_by", rank.ended_by);
  if (const auto drift = drift_per_hour(rank)) {
    json["drift_per_hour"] = drift->value;
    json["drift_margin95"] = drift->margin95;
  }
  json["windows"] = Json::array();
  for (const BurnWindow& window : rank.windows) {
    Json one = {{"begin", window.begin}, {"seconds", window.seconds}, {"speed", window.speed}};
    put_present(one, "flops", window.flops);
    put_present(one, "bytes", window.bytes);
    put_present(one, "clock_hz", window.clock_hz);
    put_present(one, "power_watts", window.power_watts);
    put_present(one, "temperature_celsius", window.temperature_celsius);
    put_present(one, "throttled_share", window.throttled_share);
    put_present(one, "throttled", window.throttled);
    json["windows"].push_back(std::move(one));
  }
  return json;
}

Result<BurnRank> rank_from(const Json& json) {
  const JsonReader reader = TRY(JsonReader::of(json));
  BurnRank rank;
  TRY(reader.optional("rank", rank.rank));
  rank.device = TRY(reader.text("device"));
  rank.turn_seconds = TRY(reader.number("turn_seconds"));
  TRY(reader.optional("ended_by", rank.ended_by));
  const Json* const windows = reader.find("windows");
  if (windows == nullptr || !windows->is_array()) return reader.wrong("windows", "must be a list");
  for (const Json& one : *windows) {
    const JsonReader window = TRY(JsonReader::of(one, "windows"));
    BurnWindow read;
    read.begin = TRY(window.number("begin"));
    read.seconds = TRY(window.number("seconds"));
    read.speed = TRY(window.number("speed"));
    TRY(window.optional("flops", read.flops));
    TRY(window.optional("bytes", read.bytes));
    TRY(window.optional("clock_hz", read.clock_hz));
    TRY(window.optional("power_watts", read.power_watts));
    TRY(window.optional("temperature_celsius", read.temperature_celsius));
    TRY(window.optional("throttled_share", read.throttled_share));
    TRY(window.optional("throttled", read.throttled));
    rank.windows.push_back(std::move(read));
  }
  return rank;
}

}  // namespace

Result<Load> parse_load(std::string_view text) {
  for (std::size_t i = 0; i < load_names.size(); ++i) {
    if (load_names[i] == text) return static_cast<Load>(i);
  }
  return Error{ErrorKind::usage,
               fmt::format("load \"{}\", allowed: products, training, memory, copies, all", text)};
}

std::optional<Slope> drift_per_hour(const BurnRank& rank) {
  constexpr double hour = 3600;
  std::vector<double> x, y;
  for (const BurnWindow& window : rank.windows) {
    x.push_back((window.begin + window.seconds / 2) / hour);
    y.push_back(window.speed);
  }
  return slope_of(x, y);
}

std::optional<std::pair<int, double>> slowest_of(const BurnOutcome& outcome) {
  if (outcome.ranks.size() < 2) return std::nullopt;
  const auto [fastest, slowest] = std::ranges::minmax(outcome.ranks, {}, &BurnRank::turn_seconds);
  if (fastest.turn_seconds <= 0) return std::nullopt;
  return std::pair(slowest.rank, slowest.turn_seconds / fastest.turn_seconds - 1);
}

Json to_json(const BurnOutcome& outcome) {
  Json json = {{"health_burn", 1}, {"results", to_json(outcome.results)}, {"ranks", Json::array()}};
  for (const BurnRank& rank : outcome.ranks) json["ranks"].push_back(to_json(rank));
  return json;
}

Result<BurnOutcome> burn_in(const BurnPlan& plan, Device& device, Team& team) {
  Observer observer(plan, device);
  SdcPlan sdc = plan.sdc;
  sdc.work = burn_work(plan.load, device);
  sdc.patterns = plan.load == Load::memory || plan.load == Load::all;
  sdc.rests = false;
  sdc.repeated = [&](const SdcUnit& unit, double seconds, const Work& work) {
    observer.repeated(unit, seconds, work);
  };
  sdc.stop_requested = [&] { return observer.has_ended() || plan.sdc.stop_requested(); };
  BurnOutcome outcome;
  outcome.results = TRY(check_corruption(sdc, device, team));
  outcome.results.interrupted = plan.sdc.stop_requested();
  const BurnRank own = observer.finish(team.rank());
  // A rank that was asked to stop may exchange nothing more.
  const auto all = team.exchange("ending the burn-in", json_line(to_json(own)));
  if (!all.ok()) {
    outcome.ranks = {own};
    return outcome;
  }
  for (const std::string& text : *all) {
    const Json json = TRY(parse_json(text));
    outcome.ranks.push_back(TRY(rank_from(json)));
  }
  return outcome;
}

}  // namespace assay::health
