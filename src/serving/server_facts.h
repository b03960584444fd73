// Says what servers report about themselves before and after a run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "serving/client/endpoint.h"
#include "serving/results/prometheus.h"

namespace assay {

/// The owner that /v1/models of `assay serve-sim` names. Times of such a server come from a model.
inline constexpr std::string_view simulated_owner = "assay-sim";

/// The first model of /v1/models.
struct ServedModel {
  std::string id;
  std::string owner;              ///< "owned_by"; empty: not reported
  std::uint64_t vocabulary = 0;   ///< 0: not reported; llama.cpp reports it
  std::uint64_t most_tokens = 0;  ///< prompt and reply together; 0: not reported; vLLM reports it
};

/// `fields`: extra HTTP header lines, "Name: value\r\n". Error: unavailable, if the server does not
/// answer, or names no model there. Its response is untrusted input.
Result<ServedModel> served_model(const Endpoint& endpoint, std::string_view fields);

/// Returns the samples of all targets' /metrics, one after another; empty if one of them has no
/// such page, or it is not in Prometheus' format.
std::optional<Scrape> scrape_all(std::span<const Endpoint> targets, std::string_view fields);

}  // namespace assay
