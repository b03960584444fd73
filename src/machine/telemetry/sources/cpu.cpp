// Clocks of the CPUs that this process uses, and the time that all CPUs together were busy or that
// the hypervisor stole.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "machine/telemetry/kept_file.h"
#include "machine/telemetry/source.h"

namespace assay::cpu_source {
namespace {

// Some kernels interrupt a CPU to read its clock; a few evenly spread CPUs are enough.
constexpr std::size_t most_clocks = 16;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Clocks {
  double mean = nan, least = nan, most = nan;
};

class ClockSummary {
 public:
  void add(double hertz) {
    if (!(hertz > 0)) return;
    least_ = std::min(least_, hertz);
    most_ = std::max(most_, hertz);
    sum_ += hertz;
    ++count_;
  }
  Clocks result() const {
    return count_ == 0 ? Clocks() : Clocks{sum_ / static_cast<double>(count_), least_, most_};
  }

 private:
  double least_ = std::numeric_limits<double>::infinity(), most_ = 0, sum_ = 0;
  std::size_t count_ = 0;
};

/// Returns at most `most_clocks` of `cpus`, evenly spread.
std::vector<int> spread(const std::vector<int>& cpus) {
  std::vector<int> chosen;
  const std::size_t count = std::min(cpus.size(), most_clocks);
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(cpus[i * cpus.size() / count]);
  return chosen;
}

/// Returns whether the first CPU of /proc/cpuinfo has this flag.
bool has_flag(std::string_view cpuinfo, std::string_view flag) {
  const std::size_t begin = cpuinfo.find("\nflags");
  if (begin == std::string_view::npos) return false;
  const std::string_view line = cpuinfo.substr(begin + 1, cpuinfo.find('\n', begin + 1) - begin);
  const std::size_t at = line.find(fmt::format(" {}", flag));
  if (at == std::string_view::npos) return false;
  const std::size_t end = at + 1 + flag.size();
  return end >= line.size() || line[end] == ' ' || line[end] == '\n';
}

class CpuSource final : public TelemetrySource {
 public:
  explicit CpuSource(const TelemetryRequest& request)
      : cpus_(request.cpus),
        statistics_(request.root / "proc/stat"),
        information_(request.root / "proc/cpuinfo") {
    for (const int cpu : spread(cpus_)) {
      clocks_.emplace_back(
          request.root / fmt::format("sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", cpu));
    }
  }

  const std::vector<Channel>& channels() const override { return channels_; }

  void read(std::span<double> values, bool all) override {
    Clocks clocks = cpufreq_clocks();
    if (all && std::isnan(clocks.mean)) clocks = cpuinfo_clocks();
    values[0] = clocks.mean;
    values[1] = clocks.least;
    values[2] = clocks.most;
    if (all) read_times(values.subspan(3));
  }

 private:
  Clocks cpufreq_clocks() {
    ClockSummary summary;
    for (KeptFile& file : clocks_) summary.add(file.read_number(1e3));
    return summary.result();
  }

  /// Used without cpufreq. "cpu MHz" costs more to read. In a virtual machine that may not read the
  /// counters APERF and MPERF it is the nominal clock, which is not a reading.
  Clocks cpuinfo_clocks() {
    ClockSummary summary;
    std::string_view text = information_.read_all();
    if (has_flag(text, "hypervisor") && !has_flag(text, "aperfmperf")) return summary.result();
    for (double cpu = nan; !text.empty();) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      const double number = number_after(line, "processor");
      if (!std::isnan(number)) cpu = number;
      const double megahertz = number_after(line, "cpu MHz");
      if (!std::isnan(megahertz) && uses(static_cast<int>(cpu))) summary.add(megahertz * 1e6);
    }
    return summary.result();
  }

  bool uses(int cpu) const { return std::find(cpus_.begin(), cpus_.end(), cpu) != cpus_.end(); }

  /// Reads the line "cpu  user nice system idle iowait irq softirq steal ..." in ticks of 10 ms.
  void read_times(std::span<double> values) {
    constexpr double tick = 0.01;  // USER_HZ is 100 on every Linux that assay runs on
    constexpr std::size_t fields = 8, idle = 3, waiting = 4, steal = 7;
    std::string_view line = statistics_.read_start();
    line = line.substr(0, line.find('\n'));
    double total = 0, busy = 0, stolen = nan;
    line.remove_prefix(std::min(line.size(), std::string_view("cpu").size()));
    for (std::size_t i = 0; i < fields; ++i) {
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      const double time = leading_number(line) * tick;
      line.remove_prefix(std::min(line.find(' '), line.size()));
      total += time;
      if (i != idle && i != waiting) busy += time;
      if (i == steal) stolen = time;
    }
    values[0] = busy;
    values[1] = stolen;
    values[2] = total;
    values[3] = total > 0 ? own_seconds() : nan;
  }

  /// Returns the CPU time of this process and of children that have ended.
  static double own_seconds() {
    double seconds = 0;
    for (const int whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
      rusage usage = {};
      if (::getrusage(whose, &usage) != 0) return nan;
      for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
        seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
      }
    }
    return seconds;
  }

  const std::vector<Channel> channels_ = {
      {"cpu", "clock_mean", "Hz", ChannelKind::gauge, ""},
      {"cpu", "clock_min", "Hz", ChannelKind::gauge, ""},
      {"cpu", "clock_max", "Hz", ChannelKind::gauge, ""},
      {"cpu", "busy", "s", ChannelKind::counter, ""},
      {"cpu", "steal", "s", ChannelKind::counter, ""},
      {"cpu", "total", "s", ChannelKind::counter, ""},
      {"cpu", "own", "s", ChannelKind::counter, ""},
  };
  const std::vector<int> cpus_;
  std::vector<KeptFile> clocks_;
  KeptFile statistics_, information_;
};

const TelemetrySourceRegistry::Add registered{
    {"cpu", [](const TelemetryRequest& request) -> std::unique_ptr<TelemetrySource> {
       return std::make_unique<CpuSource>(request);
     }}};

}  // namespace
}  // namespace assay::cpu_source
