#include "serving/results/token_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace assay {
namespace {

/// Events that are less apart came together: no server makes 20,000 tokens a second for one reply.
constexpr float together = 50e-6F;
constexpr std::size_t few_bursts = 4, many_in_a_burst = 8;
constexpr double most_doubtful = 0.1;

/// Returns whether the first of a reply's tokens came with others. If a reply comes in equal
/// bursts, TPOT is then too short by a share of 1 / (number of bursts).
bool is_held_back(const RequestLog& log) {
  const std::size_t events = log.gaps.size() + 1;
  const auto apart = static_cast<std::size_t>(
      std::count_if(log.gaps.begin(), log.gaps.end(), [](float gap) { return gap >= together; }));
  const std::size_t bursts = apart + 1;
  const std::uint64_t tokens = log.output_tokens;
  return tokens >= 2 && (bursts == 1 || (bursts < few_bursts && tokens >= 4 * bursts) ||
                         events >= many_in_a_burst * bursts);
}

}  // namespace

TokenTimes token_times_of(const RequestLog& log) {
  const std::uint64_t sent = log.output_tokens - std::min(log.hidden_tokens, log.output_tokens);
  // An event may stand for a token without text, such as a special one.
  const bool can_be =
      !log.counted || !log.output_bytes || sent <= *log.output_bytes + log.gaps.size() + 1;
  if (!can_be) return TokenTimes::miscounted;
  if (!log.streamed) return TokenTimes::hold;  // it has no such times
  if (log.hidden_tokens > 0) return TokenTimes::hidden;
  return is_held_back(log) ? TokenTimes::held_back : TokenTimes::hold;
}

TokenDoubts token_doubts(const std::vector<const RequestLog*>& replies) {
  std::array<std::size_t, 4> counts = {};
  std::array<const RequestLog*, 4> first = {};
  for (const RequestLog* log : replies) {
    const auto kind = static_cast<std::size_t>(token_times_of(*log));
    ++counts[kind];
    if (first[kind] == nullptr) first[kind] = log;
  }
  const auto too_many = [&](std::size_t count) {
    return static_cast<double>(count) > most_doubtful * static_cast<double>(replies.size());
  };
  const auto count_of = [&](TokenTimes kind) { return counts[static_cast<std::size_t>(kind)]; };
  const auto first_of = [&](TokenTimes kind) { return first[static_cast<std::size_t>(kind)]; };
  const auto of_all = [&](std::size_t count) {
    return fmt::format("{} of {} replies", count, replies.size());
  };
  TokenDoubts doubts;
  const std::size_t miscounted = count_of(TokenTimes::miscounted);
  const std::size_t hidden = count_of(TokenTimes::hidden);
  const std::size_t held_back = count_of(TokenTimes::held_back);
  if (too_many(miscounted)) {
    const RequestLog& log = *first_of(TokenTimes::miscounted);
    doubts.counts = fmt::format(
        "the server counts more tokens than the text can hold in {}, {} in {} bytes of {} events "
        "in the first; throughput in tokens, TPOT and ITL are void",
        of_all(miscounted), log.output_tokens, *log.output_bytes, log.gaps.size() + 1);
  } else if (too_many(miscounted + hidden + held_back) && hidden >= held_back) {
    const RequestLog& log = *first_of(TokenTimes::hidden);
    doubts.gaps = fmt::format(
        "the server counts tokens of reasoning that it does not send in {}, {} of {} in the first; "
        "TPOT and ITL are void",
        of_all(hidden), log.hidden_tokens, log.output_tokens);
  } else if (too_many(miscounted + hidden + held_back)) {
    const RequestLog& log = *first_of(TokenTimes::held_back);
    doubts.gaps = fmt::format(
        "most tokens came together in {}, {} in {:.3g} ms in the first, as where a proxy collects "
        "a stream before it sends it on (nginx: proxy_buffering off); TPOT and ITL are void",
        of_all(held_back), log.output_tokens, (log.last - log.first) * 1e3);
  }
  return doubts;
}

}  // namespace assay
