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
  std::int64_t batch_cuts = 1;                        ///< TokenSource::batch_cuts
  std::string file = {};                              ///< JSONL; empty: synthetic documents
  std::string chat_template = {};                     ///< InstructionSettings::chat_template
  bool loss_on_all = false;                           ///< InstructionSettings::loss_on_all
  std::optional<std::int64_t> epochs = std::nullopt;  ///< passes over a file instead of steps
  /// If set, the learning rate falls in a line from this value at its highest. Its last step is
  /// that of `epochs`, or number `steps`.
  std::optional<float> linear_rate = std::nullopt;
  std::int64_t steps = 0;
};

std::unique_ptr<TrainModel> finetune_model(TransformerSettings settings, FinetuneData data);

}  // namespace assay
