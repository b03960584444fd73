// Code that importers for load generators of inference servers share: axes, latencies, times, and
// checks of reported totals against the arrays of single requests beside them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "results/import/json_documents.h"

namespace assay {

/// The label of simulated servers' results in vLLM's JSON, which `assay load` writes. Imported
/// results with it are marked like device.emulated.
inline constexpr std::string_view simulated_label = "simulated by assay serve-sim";

/// Returns a rate or a limit as an axis value: "16" for "16.0", "inf" for "inf" or "Infinity",
/// "none" if it is empty (there is none), and any other text in lower case.
std::string rate_text(std::string_view text);

/// Adds the members "mean_KEY_ms", "median_KEY_ms", "std_KEY_ms" and percentiles such as
/// "p99_KEY_ms" of `result` as metrics in seconds, with `name` in place of KEY: mean_ttft from
/// mean_ttft_ms. Members that are not numbers are ignored.
void add_latencies(Record& record, const JsonNode& result, std::string_view key,
                   std::string_view name);

/// Adds the counts of requests and tokens to `record`, and checks reported values of `result`
/// against its arrays output_lens, ttfts and itls, which detailed results have. TTFT without empty
/// replies and the longest stalls, which only the arrays show, are added, too. A record without
/// tokens, without successful requests or with more failures than successes becomes
/// RecordStatus::failed. Warnings go to `draft` with the line of the file.
void judge_serving(Draft& draft, Record& record, const JsonNode& result, std::size_t line);

/// Returns "2024-11-09T15:05:47" for "20241109-150547", in the same unknown time zone; empty if the
/// text has another form. iso_time() (record_builder.h) checks the values.
std::string compact_time(std::string_view text);
/// Formats seconds since 1970 as UTC, "2026-01-31T12:00:01Z"; empty if not from 2000 to 2099.
std::string utc_time(double seconds);

}  // namespace assay
