#include "serving/workload/arrivals.h"

#include <fmt/format.h>

#include <cmath>

#include "core/random.h"

namespace assay {
namespace {

Error wrong(std::string message) {
  return {ErrorKind::usage, std::move(message)};
}

Status check(const ArrivalSettings& settings) {
  constexpr double least_burstiness = 0.01;  // below this, nearly all gaps are 0
  if (!(settings.burstiness >= least_burstiness)) {
    return wrong(fmt::format("burstiness {} is below {}", settings.burstiness, least_burstiness));
  }
  if (!settings.ramp) {
    if (settings.rate > 0) return {};
    return wrong(fmt::format("request rate {} is not above 0", settings.rate));
  }
  for (const double rate : {settings.ramp->first, settings.ramp->last}) {
    if (!(rate > 0) || !std::isfinite(rate)) {
      return wrong(fmt::format("rate {} of the ramp is not above 0 and finite", rate));
    }
  }
  return {};
}

/// The rate at `share` of the way from the first to the last.
double rate_at(const RateRamp& ramp, double share) {
  if (ramp.exponential) return ramp.first * std::pow(ramp.last / ramp.first, share);
  return ramp.first + (ramp.last - ramp.first) * share;
}

}  // namespace

Result<std::vector<double>> arrivals(std::size_t n, const ArrivalSettings& settings,
                                     std::uint64_t seed) {
  TRY(check(settings));
  std::vector<double> times(n, 0.0);
  if (n == 0 || (!settings.ramp && !std::isfinite(settings.rate))) return times;
  Random random(seed);
  const bool equal = !std::isfinite(settings.burstiness);
  const double steps = n > 1 ? static_cast<double>(n - 1) : 1;
  double now = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double rate =
        settings.ramp ? rate_at(*settings.ramp, static_cast<double>(i) / steps) : settings.rate;
    now += equal ? 1 / rate : random.gamma(settings.burstiness) / (settings.burstiness * rate);
    times[i] = now;
  }
  if (settings.ramp || !(now > 0)) return times;
  const double last = static_cast<double>(n) / settings.rate;
  for (double& time : times) time = time / now * last;
  return times;
}

Result<std::vector<double>> conversation_arrivals(const Prompts& prompts, ArrivalSettings settings,
                                                  std::uint64_t seed) {
  std::size_t conversations = 0;
  for (std::size_t i = 0; i < prompts.size(); ++i) conversations += prompts.follows(i) ? 0 : 1;
  const double share = static_cast<double>(conversations) / static_cast<double>(prompts.size());
  settings.rate *= share;
  if (settings.ramp) {
    settings.ramp->first *= share;
    settings.ramp->last *= share;
  }
  return arrivals(conversations, settings, seed);
}

Result<std::vector<double>> recorded_arrivals(const Prompts& prompts, double speed) {
  if (!(speed > 0) || !std::isfinite(speed)) {
    return wrong(fmt::format("speed {} of the trace is not above 0 and finite", speed));
  }
  std::vector<double> times;
  const double first = prompts.size() > 0 ? prompts.recorded_seconds(0) : 0;
  double before = first;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const double now = prompts.recorded_seconds(i);
    if (!(now >= 0)) return wrong("the data have no arrival times");
    if (now < before) {
      return wrong(fmt::format("request {} arrived at {} s, before the one ahead of it", i, now));
    }
    times.push_back((now - first) / speed);
    constexpr double most = 24'000 * 3600.0;  // clocks count nanoseconds in 64 bits
    if (times.back() > most) {
      return wrong(fmt::format("request {} arrives {} s after the first; allowed: up to {}", i,
                               times.back(), most));
    }
    before = now;
  }
  return times;
}

}  // namespace assay
