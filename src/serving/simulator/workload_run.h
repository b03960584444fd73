// Runs a whole workload through engines in virtual time: seconds of serving take milliseconds. The
// result is a prediction of the model of simulated_engine.h, not a measurement.
#pragma once

#include <span>
#include <vector>

#include "serving/simulator/simulated_engine.h"

namespace assay::simulator {

/// A request before it is run.
struct WorkloadRequest {
  double arrival = 0;  ///< seconds; in ascending order; ignored in a closed loop
  std::uint64_t prompt_tokens = 0, output_tokens = 0;
  std::vector<std::uint64_t> hashes;  ///< block_hashes() of the prompt; empty: shares no prefix
};

/// Seconds, on the clock of the arrivals.
struct RequestOutcome {
  double arrival = 0;
  double first = 0;   ///< the first token
  double finish = 0;  ///< the last one
  int engine = 0;     ///< number of the engine that got it, from 0
};

/// What became of the workload.
struct WorkloadOutcome {
  std::vector<RequestOutcome> requests;  ///< in the order of the workload
  std::uint64_t preemptions = 0;
};

/// How requests come: at their times, or so that `in_flight` of them are unfinished at any time.
struct Arrival {
  std::size_t in_flight = 0;  ///< 0: an open loop
};

/// Runs `workload` through `engines` equal engines behind a balancer that sends each request to the
/// engine with the fewest unfinished requests, ties in turn. Error: usage if a request is larger
/// than the cache of one engine.
Result<WorkloadOutcome> run_workload(const EngineSettings& settings, int engines,
                                     std::span<const WorkloadRequest> workload, Arrival loop = {});

/// `count` requests of equal length without common prefixes, arriving as a Poisson process with
/// `rate` per second.
std::vector<WorkloadRequest> poisson_workload(std::size_t count, double rate,
                                              std::uint64_t prompt_tokens,
                                              std::uint64_t output_tokens, std::uint64_t seed);

}  // namespace assay::simulator
