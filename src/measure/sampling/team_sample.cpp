#include "measure/sampling/team_sample.h"

#include <algorithm>
#include <bit>

#include "ranks/team/agreement.h"
#include "ranks/team/wire.h"
#include "statistics/summary.h"

namespace assay {
namespace {

/// A StopReason as a number for messages; 0 means to continue.
std::uint64_t code_of(const std::optional<StopReason>& stop) {
  return stop ? static_cast<std::uint64_t>(*stop) + 1 : 0;
}

std::optional<StopReason> stop_of(std::uint64_t code) {
  if (code == 0) return std::nullopt;
  const auto most = static_cast<std::uint64_t>(StopReason::not_run) + 1;
  return static_cast<StopReason>(std::min(code, most) - 1);
}

std::string vote(const Result<Sample>& mine, bool stop_asked) {
  std::string payload;
  put(payload, to_text(mine.ok() ? Status() : Status(mine.error())));
  put(payload, std::bit_cast<std::uint64_t>(mine.ok() ? mine->seconds : 0.0));
  put(payload, static_cast<std::uint64_t>(mine.ok() && mine->throttled));
  put(payload, static_cast<std::uint64_t>(stop_asked));
  return payload;
}

/// Makes rank 0's decision: an error, or whether to stop, whether any rank is throttled, and the
/// seconds of all ranks.
std::string count_votes(const Team& team, const std::vector<std::string>& votes,
                        const std::function<std::optional<StopReason>(double)>& rule) {
  TeamSample sample;
  bool stop_asked = false;
  std::vector<Status> statuses;
  for (const std::string& vote : votes) {
    PayloadReader reader(vote);
    statuses.push_back(status_from_text(reader.text()));
    sample.by_rank.push_back(std::bit_cast<double>(reader.number()));
    sample.throttled = reader.number() != 0 || sample.throttled;
    stop_asked = stop_asked || reader.number() != 0;
  }
  const Status agreed = first_error(team, statuses);
  if (agreed.ok()) {
    sample.stop = stop_asked ? StopReason::interrupted : rule(sample.slowest());
  }
  std::string decision;
  put(decision, to_text(agreed));
  put(decision, code_of(sample.stop));
  put(decision, static_cast<std::uint64_t>(sample.throttled));
  for (const double seconds : sample.by_rank) {
    put(decision, std::bit_cast<std::uint64_t>(seconds));
  }
  return decision;
}

}  // namespace

double TeamSample::slowest() const {
  return *std::max_element(by_rank.begin(), by_rank.end());
}

Result<TeamSample> agree_on_sample(Team& team, const Result<Sample>& mine, bool stop_asked,
                                   const std::function<std::optional<StopReason>(double)>& rule) {
  if (team.size() == 1) {
    if (!mine.ok()) return mine.error();
    return TeamSample{{mine->seconds},
                      mine->throttled,
                      stop_asked ? StopReason::interrupted : rule(mine->seconds)};
  }
  const auto decision = team.decide(
      "sampling", vote(mine, stop_asked),
      [&](const std::vector<std::string>& votes) { return count_votes(team, votes, rule); });
  // This rank's own error is more informative than the missing answers of the others.
  if (!decision.ok()) return mine.ok() ? decision.error() : mine.error();
  PayloadReader reader(*decision);
  TRY(status_from_text(reader.text()));
  TeamSample sample;
  sample.stop = stop_of(reader.number());
  sample.throttled = reader.number() != 0;
  for (int rank = 0; rank < team.size(); ++rank) {
    sample.by_rank.push_back(std::bit_cast<double>(reader.number()));
  }
  if (!reader.ok()) return Error{ErrorKind::failed, "rank 0 sent an incomplete decision"};
  return sample;
}

Arrivals judge_arrivals(std::vector<double> inside) {
  constexpr double least_share = 0.2;
  // The start message reaches one rank after the other.
  const double least_seconds = 2e-4 + 2e-5 * static_cast<double>(inside.size());
  Arrivals arrivals;
  arrivals.inside = std::move(inside);
  const auto last = std::min_element(arrivals.inside.begin(), arrivals.inside.end());
  arrivals.last = static_cast<int>(last - arrivals.inside.begin());
  std::vector<double> others = arrivals.inside;
  others.erase(others.begin() + arrivals.last);
  if (others.empty()) return arrivals;
  const double typical = median(others);
  const double waited = typical - *last;
  if (waited > least_share * typical && waited > least_seconds) arrivals.waited = waited;
  return arrivals;
}

}  // namespace assay
