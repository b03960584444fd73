// Searches for the highest request rate at which servers meet their targets, using a fitted curve
// to need few runs. Pure logic without clock or I/O: it proposes a probe, is given the outcome, and
// proposes the next.
//
// A run with one request in flight shows whether the targets can be met at all; a run with many
// shows the throughput that bounds the rate. Starting at 0.7 of that throughput, the rate goes up
// or down by growing factors until one rate has passed and a higher one has failed. Between them
// the next rate comes from an isotonic fit of the used share of the targets over the rate, both as
// logarithms. The rate found must then pass fresh repeats, and only these decide: it was selected
// because it passed, so its own run is biased.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace assay {

struct RateSearchSettings {
  /// Relative distance, 0.01 to 1, of a passed and a failed rate at which the search ends.
  double precision = 0.05;
  double most_rate = std::numeric_limits<double>::infinity();  ///< requests per second
  std::size_t repeats = 3;                                     ///< fresh runs at the rate found
  std::size_t most_probes = 40;                                ///< gives up after this many
};

/// What to run next. Every probe needs a seed of its own: repeats with the same arrivals would
/// agree too well, and a prefix cache would hold the prompts.
struct RateProbe {
  enum class Kind {
    single,   ///< closed loop, one request in flight
    full,     ///< closed loop with many requests in flight, the caller's choice
    at_rate,  ///< open loop at `rate`
  };
  Kind kind = Kind::single;
  double rate = 0;         ///< requests per second
  std::size_t number = 0;  ///< index of the probe in the search, from 0
  std::size_t repeat = 0;  ///< number of the fresh run at the rate found, from 1; 0: a first run
};

/// What a run showed.
struct ProbeOutcome {
  double throughput = 0;     ///< requests per second
  std::vector<double> used;  ///< value over limit for each target; above 1 the target is missed
  std::string fault;     ///< why the run fails regardless of `used`, e.g. "saturated"; empty: none
  bool is_void = false;  ///< tells nothing about the servers; the probe is repeated unless it is
                         ///< `full`

  double most_used() const;
  bool passes() const { return fault.empty() && !is_void && most_used() <= 1; }
};

/// The outcome at one rate; over several runs, their mean.
struct RateOutcome {
  double rate = 0;
  std::vector<double> used;  ///< value over limit for each target
  std::string fault;  ///< fault of the last run that has one; the rate may have passed nevertheless
};

/// How the search ended, and the rates around the boundary.
struct SearchResult {
  enum class End {
    found,        ///< the boundary is known to the precision
    capped,       ///< the highest rate allowed passes
    unreachable,  ///< one request in flight already misses a target
    too_slow,     ///< even a tenth of the rate of one request in flight fails
    noisy,        ///< three runs of one probe were void, so nothing more can be told
    stopped,      ///< out of probes
  };
  End end = End::stopped;
  /// The highest rate that passed below every failed one; empty: none did.
  std::optional<RateOutcome> passed;
  /// The lowest rate that failed, 0 if unreachable; empty: none did.
  std::optional<RateOutcome> failed;
  std::size_t repeats = 0, repeats_passed = 0;  ///< fresh runs at the passed rate
  /// Confidence that more than half of all runs at the passed rate would pass: 1 minus the
  /// probability of so few failed repeats if each failed with probability 1/2. 0 without repeats.
  double confidence = 0;
  double full_throughput = 0;  ///< requests per second of the closed loop; 0: not measured
  std::size_t probes = 0;
};

class RateSearch {
 public:
  explicit RateSearch(const RateSearchSettings& settings) : settings_(settings) {}

  /// Returns the next probe to run; empty: the search has ended.
  std::optional<RateProbe> next() const;
  /// Adds the outcome of the probe that next() last proposed.
  void add(const ProbeOutcome& outcome);
  /// The result so far.
  SearchResult result() const;

 private:
  /// All runs at one rate: the first, then the fresh repeats.
  struct Tried {
    double rate = 0;
    std::vector<ProbeOutcome> runs;

    std::size_t repeats() const { return runs.size() - 1; }
    std::size_t failed_repeats() const;
  };

  /// More than half of the repeats must pass; without repeats, the first run decides.
  bool passes(const Tried& tried) const;
  const Tried* highest_passed() const;
  const Tried* lowest_failed() const;
  double start() const;
  double least_rate() const;
  bool is_unreachable() const;
  /// A rate between the highest passed and the lowest failed one.
  double between(double low, double high) const;
  std::optional<double> fitted_root(double low, double high) const;
  /// The next untried rate; empty: the boundary is known to the requested precision, or there is
  /// none.
  std::optional<double> next_rate() const;
  /// next() without the limit on probes.
  std::optional<RateProbe> proposed() const;
  void remember(double rate, const ProbeOutcome& outcome);

  RateSearchSettings settings_;
  std::vector<ProbeOutcome> singles_;
  std::optional<ProbeOutcome> full_;
  std::vector<Tried> tried_;  // sorted by rate
  std::size_t probes_ = 0;
  std::size_t leaps_ = 0;           // number of rates tried outside the range tried before
  std::vector<double> log_widths_;  // log widths of the bracket before each rate tried inside it
  std::size_t voids_ = 0;           // void runs of the present probe so far
};

}  // namespace assay
