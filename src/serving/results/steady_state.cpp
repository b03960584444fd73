#include "serving/results/steady_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "serving/results/reply_times.h"

namespace assay {
namespace {

constexpr double full_share = 0.95;  // share of the concurrency, as in vllm-bench's steady_state
constexpr std::size_t fewest = 10;

std::optional<Presence> window_of(const std::vector<RequestLog>& logs, const InFlight& in_flight,
                                  const AnalysisSettings& settings, std::string& reason) {
  const OfferedLoad& load = settings.load;
  if (!load.is_open_loop() && load.max_concurrency.value_or(0) > 0) {
    const auto full = in_flight.at_least(full_share * static_cast<double>(*load.max_concurrency));
    if (!full) {
      reason = fmt::format("at most {} of {} requests were in flight", in_flight.most(),
                           *load.max_concurrency);
    }
    return full;
  }
  double first_end = std::numeric_limits<double>::infinity(), last_sent = 0;
  for (const RequestLog& log : logs) {
    if (log.sent < 0) continue;
    last_sent = std::max(last_sent, log.sent);
    first_end = std::min(first_end, end_of(log));
  }
  if (first_end >= last_sent) {
    reason = "all requests were sent before the first one ended";
    return std::nullopt;
  }
  return Presence{first_end, last_sent};
}

/// The share of the reply that arrived in the window, assuming that all its events hold equally
/// many tokens. Replies that end in the window would not do: where they are as long as the window,
/// few do.
double share_within(const RequestLog& log, const Presence& window) {
  std::size_t events = 0;
  double at = log.first;
  const auto count = [&] { events += window.begin <= at && at < window.end; };
  count();
  for (const float gap : log.gaps) {
    at += static_cast<double>(gap);
    count();
  }
  return static_cast<double>(events) / static_cast<double>(log.gaps.size() + 1);
}

}  // namespace

std::optional<SteadyState> steady_state_of(const std::vector<RequestLog>& logs,
                                           const InFlight& in_flight,
                                           const AnalysisSettings& settings, std::string& reason) {
  const auto window = window_of(logs, in_flight, settings, reason);
  if (!window) return std::nullopt;
  const auto within = [&](double moment) {
    return window->begin <= moment && moment < window->end;
  };
  SteadyState steady;
  steady.begin = window->begin;
  steady.end = window->end;
  double tokens = 0, replies = 0;
  std::vector<double> ttfts, tpots;
  for (const RequestLog& log : logs) {
    if (!log.succeeded()) continue;
    const double share = share_within(log, *window);
    replies += share;
    tokens += share * static_cast<double>(log.output_tokens);
    if (!within(log.sent)) continue;
    ttfts.push_back(ttft_of(log));
    if (log.output_tokens > 1) tpots.push_back(tpot_of(log));
  }
  steady.requests = ttfts.size();
  if (steady.requests < fewest) {
    reason = fmt::format("only {} requests were sent between ramp and drain", steady.requests);
    return std::nullopt;
  }
  const double seconds = steady.end - steady.begin;
  steady.request_throughput = replies / seconds;
  steady.output_throughput = tokens / seconds;
  steady.ttft = latency_of(ttfts, settings.percents);
  steady.tpot = latency_of(tpots, settings.percents);
  return steady;
}

}  // namespace assay
