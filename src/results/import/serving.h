// Shared parts of importers for load generators of inference servers: axes, latencies, and values
// recomputed from the stored arrays, so that impossible totals are detected.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/import/json_documents.h"

namespace assay {

/// The label of simulated servers' results in vLLM's JSON, which `assay load` writes. Imported
/// results with it are marked like device.emulated.
inline constexpr std::string_view simulated_label = "simulated by assay serve-sim";

/// Returns "16" for "16.0", "inf" for "inf" or "Infinity", as an axis value; "none" if empty.
std::string rate_text(std::string_view text);

/// Adds the members "mean_KEY_ms", "median_KEY_ms", "std_KEY_ms" and those of percentiles as
/// metrics in seconds with `name` in place of KEY: mean_ttft from mean_ttft_ms.
void add_latencies(Record& record, const JsonNode& result, std::string_view key,
                   std::string_view name);

/// Counts of one result, where reported.
struct ServingCounts {
  std::optional<double> prompts, completed, failed;  ///< requests: all, and how they ended
  std::optional<double> empty;                       ///< replies without a token
  std::optional<double> output_tokens;               ///< of all replies
};

/// Data from the arrays output_lens, ttfts, itls and, if it is there, errors of a detailed result.
struct ServingArrays {
  std::size_t requests = 0;
  std::size_t succeeded = 0;           ///< without an error
  std::size_t empty = 0;               ///< without an error, but also without a token
  std::vector<double> ttfts;           ///< seconds, of the successful requests
  std::vector<double> ttfts_nonempty;  ///< seconds, of the requests that returned a token
  std::vector<double> itls;            ///< seconds, of all successful requests
  std::vector<double> longest_stalls;  ///< seconds, the longest gap of each request that has any
};

/// Returns nullopt without output_lens, or if the arrays are inconsistent or hold other things than
/// numbers, which `problem` then describes.
std::optional<ServingArrays> serving_arrays(const JsonNode& result, std::string& problem);

/// Adds the counts and what only the arrays contain, and checks reported values against the arrays.
/// A result without tokens, without successes or with more failures than successes becomes
/// `failed`. Warnings go to `draft`.
void judge_serving(Draft& draft, Record& record, const JsonNode& result, std::size_t line);

/// Returns "2024-11-09T15:05:47" for "20241109-150547"; empty if invalid.
std::string compact_time(std::string_view text);
/// Formats seconds since 1970 as "2026-01-31T12:00:01Z"; empty if not from 2000 to 2099.
std::string unix_time(double seconds);

}  // namespace assay
