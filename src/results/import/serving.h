// What load generators for inference servers share: axes, latencies, and values recomputed from the
// arrays they store, so that impossible totals are detected.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/import/json_documents.h"

namespace assay {

/// The label of results of simulated servers in vLLM's JSON, which `assay load` writes: what is
/// read back is marked like device.emulated.
inline constexpr std::string_view simulated_label = "simulated by assay serve-sim";

/// "16" of "16.0", "inf" of "inf" or "Infinity", as an axis value; "none" if empty.
std::string rate_text(std::string_view text);

/// Adds mean, median, std and every percentile of `PREFIX_KEY_ms` as metrics in seconds named
/// `PREFIX_name`: mean_ttft from mean_ttft_ms.
void add_latencies(Record& record, const JsonNode& result, std::string_view key,
                   std::string_view name);

/// Counts of one result, where reported.
struct ServingCounts {
  std::optional<double> prompts, completed, failed, empty, output_tokens;
};

/// Data from the arrays input_lens, output_lens, ttfts, itls and errors of a detailed result.
struct ServingArrays {
  std::size_t requests = 0;
  std::size_t succeeded = 0;           ///< without an error
  std::size_t empty = 0;               ///< without an error, but also without a token
  std::vector<double> ttfts;           ///< seconds, of the successful requests
  std::vector<double> ttfts_nonempty;  ///< seconds, of the requests that returned a token
  std::vector<double> itls;            ///< seconds, of all successful requests
  std::vector<double> longest_stalls;  ///< seconds, the longest gap of each request that has any
};

/// Nullopt without arrays. If they have different lengths, `problem` says so.
std::optional<ServingArrays> serving_arrays(const JsonNode& result, std::string& problem);

/// Adds the counts and what only the arrays contain, checks reported values against the arrays, and
/// judges: a result without tokens, or with more failures than successes, is `failed`. Warnings go
/// to `draft`.
void judge_serving(Draft& draft, Record& record, const JsonNode& result, std::size_t line);

/// "2024-11-09T15:05:47" of "20241109-150547"; empty if invalid.
std::string compact_time(std::string_view text);
/// Seconds since 1970 as "2026-01-31T12:00:01Z"; empty if out of range.
std::string unix_time(double seconds);

}  // namespace assay
