#include "model/tokenizer/byte_pairs.h"

#include <queue>
#include <tuple>

namespace assay {
namespace {

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

/// A token of the piece, linked to those beside it. One that was merged into the left has no token.
struct Symbol {
  std::int32_t token = -1;
  std::size_t before = 0, after = 0;
};

/// A pair that can be merged; of equal rank the leftmost comes first.
struct Candidate {
  std::uint32_t rank = 0;
  std::size_t left = 0;
  std::int32_t merged = 0;

  bool operator>(const Candidate& other) const {
    return std::tie(rank, left) > std::tie(other.rank, other.left);
  }
};

}  // namespace

void BytePairs::add(std::int32_t left, std::int32_t right, std::int32_t merged) {
  const auto rank = static_cast<std::uint32_t>(merges_.size());
  merges_.try_emplace(key_of(left, right), Merge{rank, merged});
}

const BytePairs::Merge* BytePairs::find(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(key_of(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void BytePairs::encode(std::string_view piece, std::vector<std::int32_t>& to) const {
  const std::size_t none = piece.size();
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  for (std::size_t i = 0; i < piece.size(); ++i) {
    symbols.push_back(
        {token_of_byte_[static_cast<unsigned char>(piece[i])], i == 0 ? none : i - 1, i + 1});
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](std::size_t left) {
    if (left == none || symbols[left].after == none) return;
    const Merge* const merge = find(symbols[left].token, symbols[symbols[left].after].token);
    if (merge != nullptr) candidates.push({merge->rank, left, merge->merged});
  };
  for (std::size_t i = 0; i < piece.size(); ++i) consider(i);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    Symbol& left = symbols[best.left];
    if (left.token < 0 || left.after == none) continue;  // one of them was merged since
    Symbol& right = symbols[left.after];
    const Merge* const merge = find(left.token, right.token);
    if (merge == nullptr || merge->rank != best.rank) continue;
    left.token = best.merged;
    right.token = -1;
    left.after = right.after;
    if (left.after != none) symbols[left.after].before = best.left;
    consider(left.before);
    consider(best.left);
  }
  for (const Symbol& symbol : symbols) {
    if (symbol.token >= 0) to.push_back(symbol.token);
  }
}

}  // namespace assay
