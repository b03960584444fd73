// `assay load --find-rate`: the highest rate at which servers meet their targets.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/serving/load_request.h"
#include "core/json.h"
#include "core/result.h"
#include "results/record/record.h"
#include "serving/results/slo.h"
#include "serving/slo_search.h"

namespace assay::cli {

/// What --find-rate and the options beside it ask for.
struct FindRate {
  std::vector<Slo> targets;
  RateSearchSettings search;
  /// Requests in flight in the first probe, a closed loop that bounds the rate; 0: 256 per server.
  std::size_t in_flight = 0;
  std::size_t cap = 0;       ///< cap on requests in flight at a rate; 0: none
  std::size_t requests = 0;  ///< requests at a rate; 0: those of `seconds`, at least 100
  double seconds = 30;       ///< duration of sending
};

/// Reads the options; adds the percentiles needed by the targets to the request. Empty without
/// --find-rate. Error: usage, naming the option.
Result<std::optional<FindRate>> read_find_rate(const Arguments& arguments, LoadRequest& request);

/// The outcome of a probe for the search. It is void if the client may have distorted a quantity of
/// the targets, unless the probe meets the targets nevertheless.
ProbeOutcome outcome_of(const FindRate& find, const ServingResult& result);

/// Runs one load point of the request, stores and shows its result.
using RunPoint = std::function<Result<LoadReport>(
    const LoadRequest& request, const LoadPoint& point, const std::string& label)>;

/// The outcome of a search.
struct FoundRate {
  SearchResult result;
  Json probes = Json::array();  ///< the probes in the order of running, each with its verdict
};

/// Runs probe after probe, each with a seed of its own (seed_of_load()). `say` is called with the
/// verdict on each probe. An interruption ends the search. Error: as from `run`; failed, if no
/// request of the first probe is answered.
Result<FoundRate> find_rate(const FindRate& find, const LoadRequest& request, const RunPoint& run,
                            const std::function<void(const std::string&)>& say);

/// One line: the rate that meets the targets, the confidence in it, and what the next higher rate
/// misses.
std::string found_text(const FindRate& find, const SearchResult& result);

/// {"find_rate": {...}}
Json to_json(const FindRate& find, const FoundRate& found);

}  // namespace assay::cli
