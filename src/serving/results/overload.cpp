#include "serving/results/overload.h"

#include <fmt/format.h>

#include <algorithm>

#include "serving/results/reply_times.h"
#include "statistics/slope.h"
#include "statistics/summary.h"

namespace assay {
namespace {

constexpr double enough_share = 0.95;
constexpr double shortest_seconds = 30, slow_ttft = 2.5, most_relative_margin = 2;

bool grows(const std::optional<Slope>& slope) {
  return slope && slope->value > 0 && slope->margin95 < most_relative_margin * slope->value;
}

/// Growth that chance does not explain.
bool is_clear(const std::optional<Slope>& slope) {
  return slope && slope->value > 0 && slope->margin95 < slope->value;
}

/// The rate at which replies ended over the rate at which requests were due, both over the middle
/// 80%: a server that keeps up ends replies as fast as requests come, only later. The first and
/// last ones would show how much the replies differ in length.
double achieved_share(const std::vector<RequestLog>& logs) {
  constexpr double from = 0.1, to = 0.9;
  std::vector<double> due, ended;
  for (const RequestLog& log : logs) {
    due.push_back(log.scheduled);
    if (log.succeeded()) ended.push_back(log.last);
  }
  if (ended.size() < 2) return 0;
  std::sort(due.begin(), due.end());
  std::sort(ended.begin(), ended.end());
  const double offered = quantile(due, to) - quantile(due, from);
  const double achieved = quantile(ended, to) - quantile(ended, from);
  const double share = achieved > 0 ? offered / achieved : 1;
  return share * static_cast<double>(ended.size()) / static_cast<double>(logs.size());
}

}  // namespace

Saturation saturation_of(const std::vector<RequestLog>& logs, const InFlight& in_flight,
                         const ServingResult& result, const AnalysisSettings& settings) {
  Saturation saturation;
  const double offered = settings.load.request_rate;
  if (!settings.load.is_open_loop()) {
    saturation.sentence =
        settings.load.max_concurrency
            ? "closed loop: the load follows the server, which is never overloaded"
            : "all requests were offered at once: latencies show the position in the queue";
    return saturation;
  }
  saturation.achieved_share = achieved_share(logs);
  // Leave out the ramp, in which the number in flight always grows.
  const double begin = result.steady ? result.steady->begin : 0;
  std::vector<double> sent, flying, first, ttfts, due, waits;
  for (const RequestLog& log : logs) {
    if (log.succeeded()) {
      due.push_back(log.scheduled);
      waits.push_back(log.first - log.scheduled);
    }
    if (log.sent < begin) continue;
    sent.push_back(log.sent);
    flying.push_back(static_cast<double>(in_flight.at(log.sent)));
    if (!log.succeeded()) continue;
    first.push_back(log.sent);
    ttfts.push_back(ttft_of(log));
  }
  const auto flying_slope = slope_of(sent, flying), ttft_slope = slope_of(first, ttfts);
  if (flying_slope) saturation.in_flight_slope = flying_slope->value;
  if (ttft_slope) saturation.ttft_slope = ttft_slope->value;
  const bool long_enough = !sent.empty() && sent.back() - sent.front() >= shortest_seconds;
  const bool growing =
      long_enough && grows(flying_slope) && grows(ttft_slope) && result.ttft.median > slow_ttft;
  // Replies that end late, as the longest ones do, are no sign of a queue; waiting that grows is.
  const bool behind = *saturation.achieved_share < enough_share &&
                      (is_clear(slope_of(due, waits)) || (long_enough && is_clear(flying_slope)));
  saturation.saturated = growing || behind;
  saturation.sentence = fmt::format("{}: {:.4g} of {:.4g} requests/s achieved",
                                    saturation.saturated ? "saturated" : "not saturated",
                                    *saturation.achieved_share * offered, offered);
  if (growing) {
    saturation.sentence +=
        fmt::format(", each second adds {:.3g} requests in flight and {:.3g} s of TTFT",
                    flying_slope->value, ttft_slope->value);
  } else if (!long_enough) {
    saturation.sentence += ", shorter than the 30 s needed to see growth";
  }
  return saturation;
}

}  // namespace assay
