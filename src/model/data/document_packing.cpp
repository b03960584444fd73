#include "model/data/document_packing.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "core/random.h"

namespace assay {
namespace {

/// Shuffles as Fisher and Yates do.
template <typename T>
void shuffle(std::vector<T>& values, Random& random) {
  for (std::size_t left = values.size(); left > 1; --left) {
    std::swap(values[left - 1], values[random.next() % left]);
  }
}

/// The documents of each row.
using RowContents = std::vector<std::vector<std::size_t>>;

RowContents choose_rows(const Documents& documents, std::size_t length, bool many_in_a_row,
                        std::size_t most_rows, Random& random) {
  std::vector<std::size_t> order(documents.count());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto tokens_in_row = [&](std::size_t document) {
    return std::min(documents.length_of(document), length);
  };
  if (many_in_a_row) {
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return std::pair(tokens_in_row(a), a) > std::pair(tokens_in_row(b), b);
    });
  }
  RowContents rows;
  std::multimap<std::size_t, std::size_t> rows_by_room;
  for (const std::size_t document : order) {
    const std::size_t needed = tokens_in_row(document);
    if (needed == 0) continue;
    std::size_t row = rows.size(), room = length;
    const auto found = many_in_a_row ? rows_by_room.lower_bound(needed) : rows_by_room.end();
    if (found != rows_by_room.end()) {
      room = found->first;
      row = found->second;
      rows_by_room.erase(found);
    } else {
      rows.emplace_back();
    }
    rows[row].push_back(document);
    rows_by_room.emplace(room - needed, row);
  }
  rows.resize(std::min(rows.size(), most_rows));
  shuffle(rows, random);
  return rows;
}

}  // namespace

PackedDocuments pack_documents(const Documents& documents, std::int64_t length, Packing packing,
                               std::uint64_t seed, std::size_t most_rows) {
  Random random(seed);
  const auto width = static_cast<std::size_t>(length);
  const RowContents contents =
      choose_rows(documents, width, packing != Packing::none, most_rows, random);
  PackedDocuments packed;
  PackedRows& rows = packed.rows;
  rows.rows = static_cast<std::int64_t>(contents.size());
  rows.length = length;
  const std::size_t all = contents.size() * width;
  rows.tokens.reserve(all);
  rows.targets.reserve(all);
  rows.document_starts.reserve(all);
  for (const std::vector<std::size_t>& row : contents) {
    std::size_t used = 0;
    for (const std::size_t document : row) {
      const std::size_t count = std::min(documents.length_of(document), width);
      packed.cut += documents.length_of(document) > width;
      const std::size_t begin = documents.begin_of(document);
      for (std::size_t i = begin; i < begin + count; ++i) {
        const bool has_target = i + 1 < begin + count && documents.has_loss[i + 1] != 0;
        rows.tokens.push_back(documents.tokens[i]);
        rows.targets.push_back(has_target ? documents.tokens[i + 1] : ignored_target);
        packed.with_target += has_target;
      }
      rows.document_starts.insert(rows.document_starts.end(), count,
                                  packing == Packing::causal ? 0 : static_cast<std::int32_t>(used));
      used += count;
    }
    packed.padding += static_cast<std::int64_t>(width - used);
    for (; used < width; ++used) {
      rows.tokens.push_back(0);
      rows.targets.push_back(ignored_target);
      rows.document_starts.push_back(static_cast<std::int32_t>(used));
    }
  }
  return packed;
}

}  // namespace assay
