// The model, the data and the work of a fine-tuning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "measure/benchmarks/train/train_model.h"
#include "model/data/document_packing.h"
#include "model/training/transformer_training.h"

namespace assay {

struct FinetuneData {
  Packing packing = Packing::documents;
  std::int64_t batch_cuts = 1;  ///< TokenSource::batch_cuts
  std::string file = {};        ///< JSONL; empty: synthetic documents
  /// As in InstructionSettings (model/data/instruction_data.h).
  std::string chat_template = {};
  bool loss_on_all = false;
  std::optional<std::int64_t> epochs = std::nullopt;  ///< passes over a file instead of steps
  /// If set, the learning rate rises to this value over ten steps (half of all if these are fewer),
  /// then falls linearly to 0 after the last step: that of `epochs`, or number `steps`.
  std::optional<float> linear_rate = std::nullopt;
  std::int64_t steps = 0;  ///< 0: not known in advance
};

/// The documents are read when they are first needed. If they cannot be read, create() reports it;
/// until then work() and the like count no attention.
std::unique_ptr<TrainModel> finetune_model(TransformerSettings settings, FinetuneData data);

}  // namespace assay
