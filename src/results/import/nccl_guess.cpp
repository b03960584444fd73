#include "results/import/nccl_guess.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace assay {

void NcclTableGuess::add(const CollectiveRow& row, std::uint64_t count) {
  reduces_ = reduces_ || (!row.redop.empty() && row.redop != "none");
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
  if (!reduces_) return "";
  if (chunks_) return "reduce_scatter";
  return ratio_ > 1.2 ? "all_reduce" : "";
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
