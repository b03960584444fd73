#include "measure/sampling/team_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/shown_text.h"
#include "core/units.h"
#include "measure/sampling/team_sample.h"
#include "ranks/team/agreement.h"
#include "ranks/team/wire.h"
#include "statistics/summary.h"

namespace assay {
namespace {

std::string payload_of(const Verification& verification) {
  std::string payload;
  put(payload, static_cast<std::uint64_t>(verification.passed));
  put(payload, verification.method);
  put(payload, std::bit_cast<std::uint64_t>(verification.error));
  put(payload, std::bit_cast<std::uint64_t>(verification.tolerance));
  put(payload, verification.detail);
  return payload;
}

Verification verification_from(const std::string& payload) {
  PayloadReader reader(payload);
  Verification verification;
  verification.passed = reader.number() != 0;
  verification.method = reader.text();
  verification.error = std::bit_cast<double>(reader.number());
  verification.tolerance = std::bit_cast<double>(reader.number());
  verification.detail = shown_line(reader.text(), most_message);
  return verification;
}

}  // namespace

Result<std::vector<std::string>> devices_of_ranks(Team& team, const DeviceFacts& mine) {
  if (team.size() == 1) return std::vector<std::string>();
  constexpr std::size_t most_name = 200;
  auto devices =
      TRY(team.exchange("naming devices", fmt::format("{}:{}{}{}", mine.backend, mine.ordinal,
                                                      mine.pci.empty() ? "" : " ", mine.pci)));
  for (std::string& device : devices) device = shown_line(device, most_name);
  return devices;
}

Result<Verification> agree_on_verification(Team& team, const Result<Verification>& mine) {
  if (team.size() == 1) return mine;
  TRY(agree(team, "verifying", mine.ok() ? Status() : Status(mine.error())));
  const auto given = TRY(team.exchange("comparing verifications", payload_of(*mine)));
  Verification all = *mine;
  all.passed = true;
  for (std::size_t rank = 0; rank < given.size(); ++rank) {
    const Verification of_rank = verification_from(given[rank]);
    all.error = std::max(all.error, of_rank.error);
    if (of_rank.passed || !all.passed) continue;
    all.passed = false;
    all.detail = fmt::format("{}: {}", name_of(team.members()[rank]),
                             of_rank.detail.empty() ? "wrong result" : of_rank.detail);
  }
  return all;
}

Result<bool> passed_on_all(Team& team, const Result<Verification>& mine) {
  return (TRY(agree_on_verification(team, mine))).passed;
}

std::vector<RankResult> results_of_ranks(const Team& team, const std::vector<std::string>& devices,
                                         const SampleSet& samples) {
  std::vector<RankResult> ranks;
  for (std::size_t rank = 0; rank < samples.by_rank.size(); ++rank) {
    RankResult result;
    result.member = team.members()[rank];
    result.device = devices[rank];
    // A rank that did not take part has no time.
    const double seconds = samples.by_rank[rank].empty() ? 0 : median(samples.by_rank[rank]);
    if (seconds > 0) result.seconds = seconds;
    if (rank < samples.inside.size() && samples.inside[rank] > 0) {
      result.inside_seconds = samples.inside[rank];
    }
    ranks.push_back(std::move(result));
  }
  return ranks;
}

std::vector<std::pair<std::string, std::string>> notes_on_ranks(
    const std::vector<RankResult>& ranks) {
  std::vector<std::pair<std::string, std::string>> notes;
  std::vector<double> seconds, inside;
  std::vector<TeamMember> measured, watched;
  for (const RankResult& rank : ranks) {
    if (rank.seconds) {
      seconds.push_back(*rank.seconds);
      measured.push_back(rank.member);
    }
    if (rank.inside_seconds) {
      inside.push_back(*rank.inside_seconds);
      watched.push_back(rank.member);
    }
  }
  if (seconds.empty()) return notes;
  const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
  const double mean =
      std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  notes.emplace_back("rank_seconds", fmt::format("min {}, mean {}, max {}", format_seconds(*least),
                                                 format_seconds(mean), format_seconds(*most)));
  notes.emplace_back("slowest_rank",
                     name_of(measured[static_cast<std::size_t>(most - seconds.begin())]));
  if (inside.size() < 2) return notes;
  const Arrivals arrivals = judge_arrivals(inside);
  if (arrivals.waited > 0) {
    notes.emplace_back("late_rank",
                       fmt::format("{}: the others wait {} for it",
                                   name_of(watched[static_cast<std::size_t>(arrivals.last)]),
                                   format_seconds(arrivals.waited)));
  }
  return notes;
}

}  // namespace assay
