// What load generators for inference servers share: axes, latencies, and what can be recomputed
// from the arrays they keep, so that totals that cannot be true are found out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/import/json_node.h"

namespace assay {

/// "16.0" to "16", "inf", "Infinity" to "inf": an axis value; "none" if there is none.
std::string rate_text(std::string_view text);

/// Adds mean, median, std and every percentile of `PREFIX_KEY_ms` as metrics in seconds named
/// `PREFIX_name`: mean_ttft_ms to mean_ttft.
void add_latencies(Record& record, const JsonNode& result, std::string_view key,
                   std::string_view name);

/// Counts of one result, as far as it tells them.
struct ServingCounts {
  std::optional<double> prompts, completed, failed, empty, output_tokens;
};

/// What the arrays input_lens, output_lens, ttfts, itls and errors of a detailed result say.
struct ServingArrays {
  std::size_t requests = 0;
  std::size_t succeeded = 0;           ///< without an error
  std::size_t empty = 0;               ///< without an error and without a token
  std::vector<double> ttfts;           ///< seconds, of those that succeeded
  std::vector<double> ttfts_nonempty;  ///< seconds, of those that gave a token
  std::vector<double> itls;            ///< seconds, of all that succeeded
  std::vector<double> longest_stalls;  ///< seconds, the longest gap of each request that has one
};

/// Empty if the result has no arrays, or some of different length: then `problem` says so.
std::optional<ServingArrays> serving_arrays(const JsonNode& result, std::string& problem);

/// Adds the counts and what only the arrays tell, checks what is stated against the arrays, and
/// judges: no token at all, or more failures than successes, is no result. Warnings go to `draft`.
void judge_serving(Draft& draft, Record& record, const JsonNode& result, std::size_t line);

/// "20241109-150547" to "2024-11-09T15:05:47"; empty if it is none.
std::string compact_time(std::string_view text);
/// Seconds since 1970 to "2026-01-31T12:00:01Z"; empty if it is no such time.
std::string unix_time(double seconds);

}  // namespace assay
