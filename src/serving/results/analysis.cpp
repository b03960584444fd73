#include "serving/results/analysis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/secrets.h"
#include "serving/results/in_flight.h"
#include "serving/results/overload.h"
#include "serving/results/reply_times.h"
#include "serving/results/run_validity.h"
#include "serving/results/steady_state.h"

namespace assay {
namespace {

using Logs = std::vector<RequestLog>;

/// The logs that succeeded, in the same order.
std::vector<const RequestLog*> succeeded(const Logs& logs) {
  std::vector<const RequestLog*> chosen;
  for (const RequestLog& log : logs) {
    if (log.succeeded()) chosen.push_back(&log);
  }
  return chosen;
}

RequestCounts counts_of(const Logs& logs) {
  RequestCounts counts;
  counts.requests = logs.size();
  for (const RequestLog& log : logs) {
    ++counts.by_end[static_cast<std::size_t>(log.reply_end)];
    std::string& error = counts.first_error[static_cast<std::size_t>(log.reply_end)];
    if (error.empty()) error = hide_secrets_in(log.error);
    counts.empty += log.empty();
    const bool prompt_known = log.prompt_asked > 0 && log.prompt_tokens > 0;
    counts.wrong_prompts += log.counted && prompt_known && log.prompt_tokens != log.prompt_asked;
    if (!log.succeeded()) continue;
    ++counts.completed;
    // An event may hold several tokens, so without the server's count no token is known to be
    // missing.
    counts.short_replies += log.counted && log.output_tokens < log.output_asked;
    counts.uncounted += !log.counted;
    counts.input_tokens += log.prompt_tokens;
    counts.output_tokens += log.output_tokens;
  }
  counts.failed = counts.requests - counts.completed - counts.empty;
  return counts;
}

/// From the first dispatch until all were done.
double duration_of(const Logs& logs) {
  double begin = std::numeric_limits<double>::infinity(), end = 0;
  for (const RequestLog& log : logs) {
    if (log.sent >= 0) begin = std::min(begin, log.sent);
    end = std::max(end, end_of(log));
  }
  return std::max(0.0, end - begin);
}

/// Judges like vLLM: a reply of one token has a TPOT of 0.
bool is_good(const RequestLog& log, const GoodputLimits& limits) {
  const auto keeps = [](const std::optional<double>& limit, double value) {
    return !limit || value <= *limit;
  };
  const double mean_gap =
      log.gaps.empty() ? 0 : gap_seconds(log) / static_cast<double>(log.gaps.size());
  return keeps(limits.ttft, ttft_of(log)) && keeps(limits.tpot, tpot_of(log)) &&
         keeps(limits.itl, mean_gap) && keeps(limits.e2el, e2el_of(log));
}

void add_throughputs(ServingResult& result, const std::vector<const RequestLog*>& replies,
                     const GoodputLimits& limits) {
  const auto per_second = [&](auto count) {
    return result.duration > 0 ? static_cast<double>(count) / result.duration : 0;
  };
  const RequestCounts& counts = result.counts;
  result.request_throughput = per_second(counts.completed);
  result.output_throughput = per_second(counts.output_tokens);
  result.total_throughput = per_second(counts.input_tokens + counts.output_tokens);
  if (!limits.any()) return;
  result.goodput_of_gaps = limits.tpot || limits.itl;
  result.goodput =
      per_second(std::count_if(replies.begin(), replies.end(),
                               [&](const RequestLog* log) { return is_good(*log, limits); }));
}

void add_latencies(ServingResult& result, const std::vector<const RequestLog*>& replies,
                   const AnalysisSettings& settings) {
  std::vector<double> ttft, tpot, e2el, ttft_scheduled, e2el_scheduled;
  for (const RequestLog* log : replies) {
    ttft.push_back(ttft_of(*log));
    e2el.push_back(e2el_of(*log));
    ttft_scheduled.push_back(log->first - log->scheduled);
    e2el_scheduled.push_back(log->last - log->scheduled);
    if (log->output_tokens > 1) tpot.push_back(tpot_of(*log));
  }
  result.ttft = latency_of(ttft, settings.percents);
  result.tpot = latency_of(tpot, settings.percents);
  result.e2el = latency_of(e2el, settings.percents);
  result.ttft_scheduled = latency_of(ttft_scheduled, settings.percents);
  result.e2el_scheduled = latency_of(e2el_scheduled, settings.percents);
}

void add_gaps(ServingResult& result, const std::vector<const RequestLog*>& replies,
              const AnalysisSettings& settings) {
  std::vector<ReplyGaps> gaps, per_token;
  bool differ = false;
  for (const RequestLog* log : replies) {
    gaps.push_back({log->gaps, 1});
    if (!log->counted || log->output_tokens < 2) continue;
    const auto tokens = static_cast<double>(log->output_tokens - 1);
    per_token.push_back({log->gaps, static_cast<double>(log->gaps.size()) / tokens});
    differ = differ || log->gaps.size() != log->output_tokens - 1;
  }
  const auto pooled = [&](std::vector<ReplyGaps> replies_gaps) {
    return pooled_latency_of(std::move(replies_gaps), settings.percents, settings.seed,
                             settings.resamples);
  };
  result.itl = pooled(std::move(gaps));
  if (differ) result.itl_per_token = pooled(std::move(per_token));
}

Tail tail_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.5), quantile(values, 0.99), values.back()};
}

void add_tails(ServingResult& result, const Logs& logs) {
  std::vector<double> queue_times, lags, stalls;
  for (const RequestLog& log : logs) {
    if (log.sent >= 0) {
      queue_times.push_back(log.due - log.scheduled);
      lags.push_back(log.sent - log.due);
    }
    if (log.succeeded() && !log.gaps.empty()) {
      stalls.push_back(static_cast<double>(*std::max_element(log.gaps.begin(), log.gaps.end())));
    }
  }
  constexpr double shortest_lag = 1e-3, most_lag_share = 0.05;
  result.late_limit = std::max(shortest_lag, most_lag_share * result.ttft.median);
  result.late_sends = static_cast<std::size_t>(
      std::count_if(lags.begin(), lags.end(), [&](double lag) { return lag > result.late_limit; }));
  result.queue_time = tail_of(std::move(queue_times));
  result.send_lag = tail_of(std::move(lags));
  result.longest_stall = tail_of(std::move(stalls));
}

/// The most token events in one second, seconds counted from the first dispatch.
double most_output_per_second(const std::vector<const RequestLog*>& replies) {
  constexpr double longest = 1e7;  // seconds, a third of a year
  double begin = std::numeric_limits<double>::infinity();
  for (const RequestLog* log : replies) begin = std::min(begin, log->sent);
  std::vector<std::size_t> events;
  const auto count = [&](double at) {
    const auto second = static_cast<std::size_t>(std::clamp(at - begin, 0.0, longest));
    if (second >= events.size()) events.resize(second + 1);
    ++events[second];
  };
  for (const RequestLog* log : replies) {
    double at = log->first;
    count(at);
    for (const float gap : log->gaps) count(at += static_cast<double>(gap));
  }
  return events.empty() ? 0 : static_cast<double>(*std::max_element(events.begin(), events.end()));
}

/// When each request was in flight: all of them until their end, or, as vLLM counts, those that
/// succeeded until their last token.
InFlight in_flight_of(const Logs& logs) {
  std::vector<Presence> presences;
  for (const RequestLog& log : logs) {
    if (log.sent >= 0) presences.push_back({log.sent, end_of(log)});
  }
  return InFlight(presences);
}
InFlight in_flight_of(const std::vector<const RequestLog*>& replies) {
  std::vector<Presence> presences;
  for (const RequestLog* log : replies) presences.push_back({log->sent, log->last});
  return InFlight(presences);
}

std::optional<LittlesLaw> littles_law(const ServingResult& result) {
  const std::optional<double>& counted = result.client.request_seconds;
  if (!counted || !(result.duration > 0)) return std::nullopt;
  LittlesLaw law;
  law.in_flight = *counted / result.duration;
  law.predicted = result.request_throughput * result.e2el.mean;
  const double larger = std::max(law.in_flight, law.predicted);
  if (larger > 0) law.difference = (law.predicted - law.in_flight) / larger;
  return law;
}

/// The time between first and last token is known twice: from their times and from the gaps.
double identity_error_of(const std::vector<const RequestLog*>& replies) {
  double largest = 0;
  for (const RequestLog* log : replies) {
    const double error = std::abs(e2el_of(*log) - ttft_of(*log) - gap_seconds(*log));
    largest = std::max(largest, error);
  }
  return largest;
}

void add_targets(ServingResult& result, const Logs& logs) {
  std::map<int, TargetResult> targets;
  for (const RequestLog& log : logs) {
    TargetResult& target = targets[log.target];
    target.target = log.target;
    ++target.requests;
    if (!log.succeeded()) continue;
    ++target.completed;
    target.mean_ttft += ttft_of(log);
    target.mean_e2el += e2el_of(log);
  }
  std::size_t most = 0;
  for (auto& [number, target] : targets) {
    const auto completed = static_cast<double>(std::max<std::size_t>(1, target.completed));
    target.mean_ttft /= completed;
    target.mean_e2el /= completed;
    most = std::max(most, target.requests);
    result.targets.push_back(target);
  }
  if (logs.empty()) return;
  result.imbalance = static_cast<double>(most) * static_cast<double>(targets.size()) /
                     static_cast<double>(logs.size());
}

AnalysisSettings with_p99(AnalysisSettings settings) {
  std::vector<double>& percents = settings.percents;
  if (std::find(percents.begin(), percents.end(), 99) == percents.end()) percents.push_back(99);
  return settings;
}

/// Sorted by time of sending, as the confidence intervals need; unsent requests come first.
Logs sorted_by_sending(const Logs& logs) {
  Logs sorted = logs;
  std::sort(sorted.begin(), sorted.end(), [](const RequestLog& a, const RequestLog& b) {
    return a.sent != b.sent ? a.sent < b.sent : a.index < b.index;
  });
  return sorted;
}

}  // namespace

ServingResult analyse(const std::vector<RequestLog>& unsorted, const AnalysisSettings& wanted) {
  const AnalysisSettings settings = with_p99(wanted);
  const Logs logs = sorted_by_sending(unsorted);
  const auto replies = succeeded(logs);
  const InFlight in_flight = in_flight_of(logs);
  ServingResult result;
  result.counts = counts_of(logs);
  result.duration = duration_of(logs);
  result.load = settings.load;
  result.client = settings.client;
  add_throughputs(result, replies, settings.goodput);
  add_latencies(result, replies, settings);
  add_gaps(result, replies, settings);
  add_tails(result, logs);
  result.most_output_per_second = most_output_per_second(replies);
  result.most_concurrent = in_flight_of(replies).most();
  result.steady = steady_state_of(logs, in_flight, settings, result.no_steady);
  result.little = littles_law(result);
  result.identity_error = identity_error_of(replies);
  result.saturation = saturation_of(logs, in_flight, result, settings);
  add_targets(result, logs);
  result.verdict = verdict_of(result, settings);
  result.verdict.doubts = token_doubts(replies);
  return result;
}

}  // namespace assay
