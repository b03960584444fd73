#include "results/import/nccl_facts.h"

#include <array>

#include "core/text.h"
#include "results/import/collective.h"
#include "results/import/text_lines.h"

namespace assay {

std::optional<RankLine> rank_line(std::string_view line) {
  const std::size_t begin = line.find("Rank ");
  const std::size_t on = line.find(" on ");
  const std::size_t device = line.find(" device ");
  if (begin == std::string_view::npos || on == std::string_view::npos ||
      device == std::string_view::npos || !(begin < on && on < device)) {
    return std::nullopt;
  }
  const auto words = split_words(line.substr(begin, on - begin));
  RankLine result;
  if (words.size() < 2) return std::nullopt;
  const auto rank = parse_count(words[1]);
  if (!rank || *rank > 1'000'000) return std::nullopt;
  result.rank = *rank;
  for (std::size_t i = 2; i + 1 < words.size(); ++i) {
    if (words[i] == "Group") result.group = parse_count(words[i + 1]).value_or(0);
  }
  result.host = trim(line.substr(on + 4, device - on - 4));
  const std::size_t close = line.find(']', device);
  if (close != std::string_view::npos) result.device = trim(line.substr(close + 1));
  return result;
}

std::string_view operation_in(std::string_view name) {
  // Longer names first, since they contain shorter ones.
  constexpr std::array<std::string_view, 18> spellings = {
      "all_reduce_bias", "reduce_scatter", "reducescatter", "all_reduce", "allreduce", "all_gather",
      "allgather",       "all_to_all",     "alltoallv",     "alltoall",   "broadcast", "sendrecv",
      "send_recv",       "hypercube",      "all-reduce",    "all-gather", "gather",    "scatter"};
  const std::string lower = lower_case(name);
  for (const std::string_view spelling : spellings) {
    if (contains(lower, spelling)) return collective_name(spelling);
  }
  return {};
}

std::string_view program_in(std::string_view line) {
  const std::size_t end = line.find("_perf");
  if (end == std::string_view::npos) return {};
  std::size_t begin = end;
  while (begin > 0 &&
         ((line[begin - 1] >= 'a' && line[begin - 1] <= 'z') || line[begin - 1] == '_')) {
    --begin;
  }
  return collective_name(line.substr(begin, end - begin));
}

}  // namespace assay
