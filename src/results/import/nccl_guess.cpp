#include "results/import/nccl_guess.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace assay {

void NcclTableGuess::add(const CollectiveRow& row, std::uint64_t count) {
  reduces_ = reduces_ || (!row.redop.empty() && row.redop != "none");
  reduces_nothing_ = reduces_nothing_ || row.redop == "none";
  rooted_ = rooted_ || (!row.root.empty() && row.root != "-1");
  rootless_ = rootless_ || row.root == "-1";
  chunks_ = chunks_ || row.size > count * collective_type_bytes(collective_type(row.type));
  const auto algbw = parse_number(row.algbw), busbw = parse_number(row.busbw);
  constexpr double rounding = 0.005;  // both have two decimals
  if (!algbw || !busbw || *algbw <= 2 * rounding) return;
  least_ = std::max(least_, (*busbw - rounding) / (*algbw + rounding));
  most_ = std::min(most_, (*busbw + rounding) / (*algbw - rounding));
  if (*algbw <= largest_) return;
  largest_ = *algbw;
  ratio_ = *busbw / *algbw;
}

std::string NcclTableGuess::operation() const {
  const bool equal = least_ <= 1 && most_ >= 1;
  if (!reduces_) return rooted_ && !chunks_ && equal && ratio_ > 0 ? "broadcast" : "";
  if (rooted_) return "reduce";
  if (chunks_) return "reduce_scatter";
  return ratio_ > 1.2 ? "all_reduce" : "";
}

bool NcclTableGuess::rules_out(std::string_view operation) const {
  struct Kind {
    std::string_view operation;
    bool reduces, rooted;
    double least, most;  // bounds of the ratio of the two bandwidths, for two ranks or more
  };
  constexpr Kind kinds[] = {
      {"all_reduce", true, false, 1, 2},       {"all_reduce_bias", true, false, 1, 2},
      {"reduce_scatter", true, false, 0.5, 1}, {"reduce", true, true, 1, 1},
      {"broadcast", false, true, 1, 1},        {"gather", false, true, 0.5, 1},
      {"scatter", false, true, 0.5, 1},        {"all_gather", false, false, 0.5, 1},
      {"all_to_all", false, false, 0.5, 1},    {"send_recv", false, false, 1, 1}};
  for (const Kind& kind : kinds) {
    if (kind.operation != operation) continue;
    if (kind.reduces ? reduces_nothing_ && !reduces_ : reduces_) return true;
    if (kind.rooted ? rootless_ && !rooted_ : rooted_) return true;
    return ratio_ > 0 && (most_ < kind.least || least_ > kind.most);
  }
  return false;
}

std::uint64_t NcclTableGuess::ranks(std::string_view operation) const {
  // busbw / algbw is 2 (n - 1) / n if all ranks reduce and gather, (n - 1) / n if they do one.
  double steps = 0;
  if (operation == "all_reduce") steps = 2;
  for (const std::string_view one : {"all_gather", "reduce_scatter", "all_to_all"}) {
    if (operation == one) steps = 1;
  }
  if (steps == 0 || !(least_ > 0) || !(most_ < steps) || least_ > most_) return 0;
  const double fewest = std::ceil(steps / (steps - least_));
  const double highest = std::floor(steps / (steps - most_));
  constexpr double most_ranks = 1e6;
  return fewest == highest && fewest >= 2 && fewest < most_ranks
             ? static_cast<std::uint64_t>(fewest)
             : 0;
}

}  // namespace assay
