// Which request rates to try in search of the highest at which servers keep their targets, in as
// few runs as a fitted curve allows. Pure logic, no clock and no I/O: it proposes a probe, is told
// what came of it, and proposes the next.
//
// One request in flight shows whether the targets can be met at all, many show the throughput that
// bounds the rate. From 0.7 of that on the rate goes up or down by growing factors until one passed
// and a higher one failed. Between them an isotonic fit of how much of the targets is used, over
// the rate, both as logarithms, says where to look. The rate that remains must then pass fresh
// repeats, which alone decide: it was chosen for having passed, so its own run flatters it.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace assay {

struct RateSearchSettings {
  double precision =
      0.05;  ///< the lowest failed rate is at most so much above the passed; 0.01 to 1
  double most_rate = std::numeric_limits<double>::infinity();  ///< requests per second
  std::size_t repeats = 3;                                     ///< at the boundary
  std::size_t most_probes = 40;                                ///< gives up after so many
};

/// What to run next. Every probe needs a seed of its own: repeats with the same arrivals would
/// agree with each other more than with the truth, and a prefix cache would know the prompts.
struct RateProbe {
  enum class Kind {
    single,   ///< closed loop, one request in flight
    full,     ///< closed loop, as many in flight as the servers may get
    at_rate,  ///< open loop at `rate`
  };
  Kind kind = Kind::single;
  double rate = 0;         ///< requests per second
  std::size_t number = 0;  ///< of the search's probes, from 0
  std::size_t repeat = 0;  ///< at the boundary, from 1; 0: a first run
};

struct ProbeOutcome {
  double throughput = 0;     ///< requests per second
  std::vector<double> used;  ///< of each target, value over limit: above 1 it is breached
  std::string fault;         ///< why the run fails whatever it used: "saturated"; empty: none
  bool is_void = false;      ///< says nothing of the servers: it is run again, once

  double most_used() const;
  bool passes() const { return fault.empty() && !is_void && most_used() <= 1; }
};

/// What was found at one rate; of several runs the mean of those that are not void.
struct RateOutcome {
  double rate = 0;
  std::vector<double> used;  ///< by target
  std::string fault;  ///< of the last run that has one; the rate may have passed all the same
};

struct SearchResult {
  enum class End {
    found,        ///< the boundary is known to the precision
    capped,       ///< the highest rate allowed passes
    unreachable,  ///< one request in flight breaches a target already
    too_slow,     ///< even a tenth of the rate of one request in flight fails
    stopped,      ///< more runs were needed
  };
  End end = End::stopped;
  std::optional<RateOutcome> passed;            ///< the highest below every failed one
  std::optional<RateOutcome> failed;            ///< the lowest; unreachable: rate 0
  std::size_t repeats = 0, repeats_passed = 0;  ///< fresh runs at the passed rate
  /// That more than half of all runs at the passed rate would pass: 1 less the chance of as few
  /// failed repeats if a coin decided. 0 without repeats.
  double confidence = 0;
  double full_throughput = 0;  ///< requests per second, of the closed loop; 0: not measured
  std::size_t probes = 0;
};

class RateSearch {
 public:
  explicit RateSearch(const RateSearchSettings& settings) : settings_(settings) {}

  /// What to run; empty: nothing, the search has ended.
  std::optional<RateProbe> next() const;
  /// Of the probe that next() last proposed.
  void add(const ProbeOutcome& outcome);
  /// Of what is known so far.
  SearchResult result() const;

 private:
  /// All runs at one rate: the first, then the fresh repeats.
  struct Tried {
    double rate = 0;
    std::vector<ProbeOutcome> runs;

    std::size_t repeats() const { return runs.size() - 1; }
    std::size_t failed_repeats() const;
  };

  /// By its repeats, of which more than half must pass; without any by its first run.
  bool passes(const Tried& tried) const;
  const Tried* highest_passed() const;
  const Tried* lowest_failed() const;
  double start() const;
  double least_rate() const;
  bool is_unreachable() const;
  /// Between the highest passed rate and the lowest failed one.
  double between(double low, double high) const;
  std::optional<double> fitted_root(double low, double high) const;
  /// A rate not tried yet; empty: the boundary is known to the precision, or there is none.
  std::optional<double> next_rate() const;
  /// next() without the limit on probes.
  std::optional<RateProbe> proposed() const;
  void remember(double rate, const ProbeOutcome& outcome);

  RateSearchSettings settings_;
  std::vector<ProbeOutcome> singles_;
  std::optional<ProbeOutcome> full_;
  std::vector<Tried> tried_;  // by rate
  std::size_t probes_ = 0;
  std::size_t leaps_ = 0;           // rates outside of all tried ones
  std::vector<double> log_widths_;  // of the bracket, before each rate inside of it
  bool was_void_ = false;           // the last run, which is therefore run again
};

}  // namespace assay
