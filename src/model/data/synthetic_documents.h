// Synthetic documents for fine-tuning: prompts and replies as long as those of instruction data.
#pragma once

#include <cstdint>

#include "model/data/document_packing.h"

namespace assay {

/// `rows` rows of `length` tokens below `vocabulary`, filled with documents with something to
/// learn, as synthetic_tokens() has it. The first part of each document is a prompt, which has no
/// targets.
PackedRows synthetic_documents(std::int32_t vocabulary, std::int64_t rows, std::int64_t length,
                               std::uint64_t seed, Packing packing = Packing::documents);

}  // namespace assay
