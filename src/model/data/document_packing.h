// Documents of tokens, and their packing into rows of one length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "model/data/packed_rows.h"

namespace assay {

/// Documents of tokens, one after the other.
struct Documents {
  std::vector<std::int32_t> tokens;
  std::vector<std::uint8_t> has_loss;  ///< 1 for a token that the model shall learn to predict
  std::vector<std::uint64_t> ends;     ///< of each document, in tokens

  std::size_t count() const { return ends.size(); }
  std::size_t begin_of(std::size_t document) const {
    return document == 0 ? 0 : static_cast<std::size_t>(ends[document - 1]);
  }
  std::size_t length_of(std::size_t document) const {
    return static_cast<std::size_t>(ends[document]) - begin_of(document);
  }
  /// Appends tokens to the last document, which end_document() ends.
  void add(std::span<const std::int32_t> added, bool with_loss) {
    tokens.insert(tokens.end(), added.begin(), added.end());
    has_loss.insert(has_loss.end(), added.size(), with_loss ? 1 : 0);
  }
  void end_document() { ends.push_back(tokens.size()); }
};

/// How documents lie in rows.
enum class Packing {
  documents,  ///< many in a row; a token attends to its own document only
  causal,     ///< many in a row; a token attends to all of the row before it
  none,       ///< one in each row, and padding after it
};

struct PackedDocuments {
  PackedRows rows;
  std::int64_t cut = 0;          ///< documents longer than a row, which lose their end
  std::int64_t padding = 0;      ///< tokens of padding
  std::int64_t with_target = 0;  ///< tokens that have a target
};

/// Packs all documents into as few rows of `length` > 0 tokens as best-fit decreasing needs: the
/// longest first, each into the row with the least room that is enough. The order of the rows is
/// shuffled with `seed`. The last token of a document has no target, also with Packing::causal.
/// Rows beyond `most_rows` are left out with their documents: those begun last, which are the
/// emptiest.
PackedDocuments pack_documents(const Documents& documents, std::int64_t length, Packing packing,
                               std::uint64_t seed,
                               std::size_t most_rows = std::numeric_limits<std::size_t>::max());

}  // namespace assay
