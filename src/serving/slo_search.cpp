#include "serving/slo_search.h"

#include <algorithm>
#include <cmath>

#include "statistics/distributions.h"
#include "statistics/isotonic.h"

namespace assay {
namespace {

constexpr double start_share = 0.7;    // share of the closed loop's throughput
constexpr std::size_t most_voids = 3;  // runs of one probe
constexpr double rounding = 1e-3;      // rounding to four digits changes a rate by less than this
/// Shares of a target used outside these bounds carry no information: for an overloaded server the
/// share grows with the length of the run, and a tiny one may be zero.
constexpr double least_used = 1e-3, most_used_counted = 2;

/// Rounds to four digits, so that rates can be read, compared and requested again.
double four_digits(double rate) {
  const double scale = std::pow(10, 3 - std::floor(std::log10(rate)));
  return std::round(rate * scale) / scale;
}

/// The factor by which the rate leaves the range tried so far: it grows with each leap, up to 4.
double leap(std::size_t before) {
  return std::exp2(0.5 * static_cast<double>(std::size_t{1} << std::min<std::size_t>(before, 2)));
}

double log_used(const ProbeOutcome& outcome) {
  const bool by_target = outcome.fault.empty() || outcome.most_used() > 1;
  return std::log(by_target ? std::clamp(outcome.most_used(), least_used, most_used_counted)
                            : most_used_counted);
}

/// The mean over `runs`, which must not be empty.
RateOutcome mean_outcome(double rate, const std::vector<ProbeOutcome>& runs) {
  RateOutcome outcome{rate, std::vector<double>(runs.front().used.size()), {}};
  for (const ProbeOutcome& run : runs) {
    if (!run.fault.empty()) outcome.fault = run.fault;
    for (std::size_t i = 0; i < std::min(outcome.used.size(), run.used.size()); ++i) {
      outcome.used[i] += run.used[i];
    }
  }
  for (double& used : outcome.used) used /= static_cast<double>(runs.size());
  return outcome;
}

}  // namespace

double ProbeOutcome::most_used() const {
  return used.empty() ? 0 : *std::max_element(used.begin(), used.end());
}

std::size_t RateSearch::Tried::failed_repeats() const {
  return static_cast<std::size_t>(std::count_if(
      runs.begin() + 1, runs.end(), [](const ProbeOutcome& run) { return !run.passes(); }));
}

bool RateSearch::passes(const Tried& tried) const {
  if (tried.repeats() == 0) return tried.runs.front().passes();
  return 2 * tried.failed_repeats() < settings_.repeats;
}

const RateSearch::Tried* RateSearch::lowest_failed() const {
  const auto at = std::find_if(tried_.begin(), tried_.end(),
                               [&](const Tried& tried) { return !passes(tried); });
  return at == tried_.end() ? nullptr : &*at;
}

const RateSearch::Tried* RateSearch::highest_passed() const {
  const Tried* highest = nullptr;
  for (const Tried& tried : tried_) {
    if (!passes(tried)) break;
    highest = &tried;
  }
  return highest;
}

bool RateSearch::is_unreachable() const {
  return singles_.size() > 1 && !singles_.back().passes();
}

double RateSearch::start() const {
  const double throughput = std::max(full_->throughput, singles_.back().throughput);
  return std::min(throughput > 0 ? start_share * throughput : 1, settings_.most_rate);
}

double RateSearch::least_rate() const {
  const double single = singles_.back().throughput;
  return single > 0 ? std::min(single / 10, start()) : start() / 1000;
}

std::optional<double> RateSearch::fitted_root(double low, double high) const {
  std::vector<double> rates, used, weights;
  for (const Tried& tried : tried_) {
    double sum = 0;
    for (const ProbeOutcome& run : tried.runs) sum += log_used(run);
    const auto runs = static_cast<double>(tried.runs.size());
    rates.push_back(std::log(tried.rate));
    used.push_back(sum / runs);
    weights.push_back(runs);
  }
  const std::vector<double> fit = isotonic_fit(used, weights);
  for (std::size_t i = 1; i < fit.size(); ++i) {
    if (!(fit[i - 1] <= 0 && fit[i] > 0)) continue;
    const double share = -fit[i - 1] / (fit[i] - fit[i - 1]);
    return std::clamp(std::exp(std::lerp(rates[i - 1], rates[i], share)), low, high);
  }
  return std::nullopt;
}

double RateSearch::between(double low, double high) const {
  // A probe just above the low end or just below the high end can close the bracket.
  const double step = 1 + settings_.precision;
  const double middle = std::sqrt(low * high);
  if (high <= low * step * step) return middle;
  // Where the curve bends sharply, the fitted root moves slowly. If two probes have not halved the
  // bracket, bisect.
  const std::size_t before = log_widths_.size();
  const bool creeps = before > 1 && std::log(high / low) > log_widths_[before - 2] / 2;
  if (creeps) return middle;
  return std::clamp(fitted_root(low, high).value_or(middle), low * step, high / step);
}

std::optional<double> RateSearch::next_rate() const {
  if (tried_.empty()) return std::min(four_digits(start()), settings_.most_rate);
  const Tried* passed = highest_passed();
  const Tried* failed = lowest_failed();
  if (failed == nullptr) {
    if (passed->rate >= settings_.most_rate * (1 - rounding)) return std::nullopt;
    return std::min(four_digits(passed->rate * leap(leaps_)), settings_.most_rate);
  }
  if (passed == nullptr) {
    if (failed->rate <= least_rate() * (1 + rounding)) return std::nullopt;
    return four_digits(std::max(failed->rate / leap(leaps_), least_rate()));
  }
  const bool close = failed->rate <= passed->rate * (1 + settings_.precision) * (1 + rounding);
  if (close) return std::nullopt;
  return four_digits(between(passed->rate, failed->rate));
}

std::optional<RateProbe> RateSearch::proposed() const {
  if (voids_ >= most_voids) return std::nullopt;
  RateProbe probe;
  probe.number = probes_;
  // The server may be cold at first, so only a second miss counts.
  if (singles_.empty() || (singles_.size() == 1 && !singles_.back().passes())) return probe;
  if (is_unreachable()) return std::nullopt;
  if (!full_) {
    probe.kind = RateProbe::Kind::full;
    return probe;
  }
  probe.kind = RateProbe::Kind::at_rate;
  if (const auto rate = next_rate()) {
    probe.rate = *rate;
    return probe;
  }
  const Tried* passed = highest_passed();
  if (passed == nullptr || passed->repeats() >= settings_.repeats) return std::nullopt;
  probe.rate = passed->rate;
  probe.repeat = passed->repeats() + 1;
  return probe;
}

std::optional<RateProbe> RateSearch::next() const {
  return probes_ < settings_.most_probes ? proposed() : std::nullopt;
}

void RateSearch::add(const ProbeOutcome& outcome) {
  const auto probe = proposed();
  if (!probe) return;
  ++probes_;
  // A closed loop only bounds the rates to try, and a late client lowers that bound a little.
  if (outcome.is_void && probe->kind != RateProbe::Kind::full) {
    ++voids_;
    return;
  }
  voids_ = 0;
  if (probe->kind == RateProbe::Kind::single) {
    singles_.push_back(outcome);
  } else if (probe->kind == RateProbe::Kind::full) {
    full_ = outcome;
  } else {
    remember(probe->rate, outcome);
  }
}

void RateSearch::remember(double rate, const ProbeOutcome& outcome) {
  const auto at = std::find_if(tried_.begin(), tried_.end(),
                               [&](const Tried& tried) { return tried.rate >= rate; });
  if (at != tried_.end() && at->rate == rate) {
    at->runs.push_back(outcome);
    return;
  }
  const Tried* passed = highest_passed();
  const Tried* failed = lowest_failed();
  if (passed != nullptr && failed != nullptr) {
    log_widths_.push_back(std::log(failed->rate / passed->rate));
  } else if (!tried_.empty()) {
    ++leaps_;
  }
  tried_.insert(at, {rate, {outcome}});
}

SearchResult RateSearch::result() const {
  SearchResult result;
  result.probes = probes_;
  if (full_) result.full_throughput = full_->throughput;
  if (is_unreachable()) {
    result.end = SearchResult::End::unreachable;
    result.failed = mean_outcome(0, singles_);
    return result;
  }
  const Tried* passed = highest_passed();
  const Tried* failed = lowest_failed();
  if (failed != nullptr) result.failed = mean_outcome(failed->rate, failed->runs);
  if (passed != nullptr) {
    const bool repeated = passed->repeats() > 0;
    result.passed =
        mean_outcome(passed->rate, {passed->runs.begin() + (repeated ? 1 : 0), passed->runs.end()});
    result.repeats = passed->repeats();
    result.repeats_passed = passed->repeats() - passed->failed_repeats();
    if (repeated) result.confidence = 1 - coin_cdf(passed->failed_repeats(), passed->repeats());
  }
  if (voids_ >= most_voids) {
    result.end = SearchResult::End::noisy;
    return result;
  }
  result.end = proposed()          ? SearchResult::End::stopped
               : passed == nullptr ? SearchResult::End::too_slow
               : failed == nullptr ? SearchResult::End::capped
                                   : SearchResult::End::found;
  return result;
}

}  // namespace assay
