#include "serving/results/run_validity.h"

#include <fmt/format.h>

#include <cmath>

namespace assay {
namespace {

constexpr double most_late_share = 0.01, most_cpu_share = 0.8;
constexpr std::size_t few_late = 3;  // the p99 of few requests is the latest of them
constexpr double longest_identity_error = 1e-3;
constexpr double most_little_share = 0.05, longest_uncounted = 1e-3;
constexpr std::size_t enough_for_p99 = 1000;  // ten values above it

void judge_client(RunVerdict& verdict, const ServingResult& result) {
  const auto late = static_cast<double>(result.late_sends);
  if (result.late_sends >= few_late &&
      late > most_late_share * static_cast<double>(result.counts.requests)) {
    verdict.late = fmt::format(
        "the client was the limit: {} of {} requests were sent more than {:.3g} ms late (p99 of "
        "send lag {:.3g} ms); TTFT{} and E2EL are void",
        result.late_sends, result.counts.requests, result.late_limit * 1e3,
        result.send_lag.p99 * 1e3, result.load.is_open_loop() ? "" : ", throughput");
  }
  if (result.client.cpu_share > most_cpu_share) {
    verdict.client_reasons.push_back(
        fmt::format("the client was the limit: its threads computed {:.0f}% of the time; the "
                    "maximum is 80%",
                    result.client.cpu_share * 100));
  }
}

void judge_replies(RunVerdict& verdict, const RequestCounts& counts, double most_spoilt) {
  const std::size_t replies = counts.completed + counts.empty;
  if (counts.failed > counts.completed) {
    verdict.server_reasons.push_back(
        fmt::format("{} of {} requests failed", counts.failed, counts.requests));
  }
  if (counts.output_tokens == 0) verdict.server_reasons.push_back("no reply has a token");
  const std::size_t spoilt = counts.empty + counts.short_replies;
  if (spoilt == 0) return;
  const std::string text = fmt::format("{} of {} replies are empty and {} shorter than asked",
                                       counts.empty, replies, counts.short_replies);
  if (static_cast<double>(spoilt) > most_spoilt * static_cast<double>(replies)) {
    verdict.server_reasons.push_back(
        fmt::format("{}; {:.3g}% is allowed", text, most_spoilt * 100));
  } else {
    verdict.warnings.push_back(text);
  }
}

/// The two sides may differ: failed requests are in flight but have no E2EL, and the client needs a
/// moment to see that a reply has ended.
void warn_of_little(RunVerdict& verdict, const ServingResult& result) {
  if (!result.little || result.counts.failed > 0) return;
  const LittlesLaw& law = *result.little;
  const double seconds_off = std::abs(law.in_flight - law.predicted) * result.duration;
  const double negligible = longest_uncounted * static_cast<double>(result.counts.completed);
  if (std::abs(law.difference) <= most_little_share || seconds_off <= negligible) return;
  verdict.warnings.push_back(
      fmt::format("Little's law does not hold: {:.4g} requests were in flight on average, "
                  "throughput times mean E2EL is {:.4g}",
                  law.in_flight, law.predicted));
}

void warn(RunVerdict& verdict, const ServingResult& result) {
  const RequestCounts& counts = result.counts;
  const auto add = [&](std::string text) { verdict.warnings.push_back(std::move(text)); };
  for (std::size_t i = 0; i < counts.by_end.size(); ++i) {
    const auto end = static_cast<ReplyEnd>(i);
    if (end == ReplyEnd::complete || counts.by_end[i] == 0) continue;
    add(fmt::format("{} of {} requests ended {}{}{}", counts.by_end[i], counts.requests,
                    name_of(end), counts.first_error[i].empty() ? "" : ": ",
                    counts.first_error[i]));
  }
  if (counts.wrong_prompts > 0) {
    add(fmt::format(
        "the server counts a different prompt length than asked for in {} of {} requests",
        counts.wrong_prompts, counts.requests));
  }
  if (counts.uncounted > 0) {
    add(fmt::format("the server did not count the tokens of {} replies: each event counts as one",
                    counts.uncounted));
  }
  if (counts.completed > 0 && counts.completed < enough_for_p99) {
    add(fmt::format("p99 of {} requests is uncertain: use at least 1000", counts.completed));
  }
  if (result.saturation.saturated) add(result.saturation.sentence);
  if (result.identity_error > longest_identity_error) {
    add(fmt::format("E2EL differs from TTFT + TPOT (n - 1) by up to {:.3g} ms",
                    result.identity_error * 1e3));
  }
  warn_of_little(verdict, result);
}

}  // namespace

RunVerdict verdict_of(const ServingResult& result, const AnalysisSettings& settings) {
  RunVerdict verdict;
  judge_client(verdict, result);
  judge_replies(verdict, result.counts, settings.most_spoilt);
  warn(verdict, result);
  return verdict;
}

}  // namespace assay
