#include "measure/benchmarks/finetune/finetune_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "measure/benchmarks/train/train_transformer.h"
#include "model/data/instruction_data.h"
#include "model/data/synthetic_documents.h"
#include "model/training/weight_files.h"

namespace assay {
namespace {

constexpr std::int64_t document_batches = 64;  // the batches repeat in this cycle
constexpr std::int64_t document_batches_held_back = 4;

double count_of(std::int64_t x) {
  return static_cast<double>(x);
}

/// What a pass over the documents costs on average.
struct DocumentCounts {
  double keys = 0;       ///< tokens that a token attends to, half of its own as in TrainTransformer
  double counted = 0;    ///< share of the tokens that have a loss
  double documents = 0;  ///< documents of a row
};

/// A token of padding is no document.
DocumentCounts count_documents(const PackedRows& rows, Packing packing) {
  double pairs = 0, counted = 0, documents = 0;
  for (std::size_t i = 0; i < rows.tokens.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i) % rows.length;
    const std::int64_t start = rows.document_starts[i];
    pairs += count_of(packing == Packing::documents ? place - start : place) + 0.5;
    counted += rows.targets[i] >= 0 ? 1 : 0;
    const bool first_target =
        rows.targets[i] >= 0 && (place == start || rows.targets[i - 1] == ignored_target);
    documents += first_target ? 1 : 0;
  }
  const double all = count_of(rows.rows * rows.length);
  return {pairs / all, counted / all, documents / count_of(rows.rows)};
}

/// `count` rows from `first` on.
PackedRows rows_from(const PackedRows& rows, std::int64_t first, std::int64_t count) {
  PackedRows part;
  part.rows = count;
  part.length = rows.length;
  const auto cut = [&](const std::vector<std::int32_t>& all) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first * rows.length);
    return std::vector<std::int32_t>(begin, begin + count * rows.length);
  };
  part.tokens = cut(rows.tokens);
  part.targets = cut(rows.targets);
  part.document_starts = cut(rows.document_starts);
  return part;
}

class FinetuneModel final : public TrainTransformer {
 public:
  FinetuneModel(TransformerSettings settings, FinetuneData data)
      : TrainTransformer(std::move(settings)), data_(std::move(data)) {}

  void set_seed(std::uint64_t seed) override {
    TrainTransformer::set_seed(seed);
    rows_.reset();
    counts_.reset();
  }

  /// Two operations for each parameter of a matrix and token, forward and for the gradients of
  /// inputs, and if it is trained for its own gradient.
  double flops_by_parameters() const override {
    const double of_model = (plan().lora ? 4 : 6) * plan().shape.products();
    const double of_adapters = plan().lora ? 6 * plan().trained_parameters() : 0;
    return tokens() * (of_model + of_adapters);
  }

  double fp8_flops() const override {
    return plan().fp8 ? tokens() * (plan().lora ? 4 : 6) * plan().shape.layer_products() : 0;
  }

  bool begins_trained() const override { return !settings_.weights.empty(); }

  std::vector<Metric> more_metrics(double seconds) const override {
    const DocumentCounts counts = counted();
    const double per_gpu = tokens() / seconds;
    const double trained = plan().trained_parameters();
    const double frozen = plan().lora ? plan().shape.parameters() : 0;
    const auto metric = [](const char* name, double value, const char* unit) {
      return Metric{.name = name, .value = value, .unit = unit, .text = ""};
    };
    return {metric("token_rate_per_rank", per_gpu, "tokens/s"),
            metric("token_rate_per_rank_with_loss", per_gpu * counts.counted, "tokens/s"),
            metric("document_rate", samples() * counts.documents / seconds, "documents/s"),
            metric("trained_parameters", trained, "1"), metric("frozen_parameters", frozen, "1")};
  }

  Result<std::unique_ptr<Training>> create(Device& device, Stream& stream,
                                           TrainingRanks ranks) const override {
    TransformerSettings settings = settings_;
    settings.ranks = ranks;
    const PackedRows& all = *TRY(rows());
    const std::int64_t training = all.rows - held_back_rows(all);
    const auto end = all.targets.begin() + static_cast<std::ptrdiff_t>(training * all.length);
    if (std::none_of(all.targets.begin(), end, [](std::int32_t target) { return target >= 0; })) {
      return Error{ErrorKind::usage,
                   fmt::format("{}: no token to train on has a loss in rows of {} tokens; choose a "
                               "longer sequence, or loss=tokens",
                               data_.file, all.length)};
    }
    const auto batches = [&](std::int64_t first, std::int64_t count) -> Result<TokenBatches> {
      if (count == 0) return TokenBatches();
      return batches_of_rows(rows_from(all, first, count), plan().batch, plan().documents);
    };
    const TokenBatches trained = TRY(batches(0, training));
    const TokenBatches held_back = TRY(batches(training, all.rows - training));
    std::int64_t steps = data_.steps;
    if (data_.epochs) {
      const std::int64_t in_a_step = settings.accumulate * parallel().ranks;
      steps = (trained.batches * *data_.epochs + in_a_step - 1) / in_a_step;
      steps_of_epochs_ = static_cast<std::size_t>(steps);
    }
    if (data_.linear_rate) {
      settings.rates =
          warmup_and_linear(*data_.linear_rate, std::min<std::int64_t>(10, steps / 2), steps);
    }
    auto made = TRY(TransformerTraining::create(device, stream, settings, trained, held_back));
    return std::unique_ptr<Training>(std::move(made));
  }

  std::optional<std::size_t> steps_of_data() const override { return steps_of_epochs_; }
  bool ends_with_data() const override { return data_.epochs.has_value(); }
  bool trains_adapters() const override { return plan().lora.has_value(); }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    std::vector<std::pair<std::string, std::string>> all;
    if (!read_) return all;
    all.emplace_back("documents",
                     fmt::format("{}, of which {} were cut at the length of a row; rows: {}",
                                 documents_, cut_, rows_->rows));
    if (read_->damaged > 0) {
      all.emplace_back("damaged_rows", fmt::format("{}: {}", read_->damaged,
                                                   fmt::join(read_->first_damaged, "; ")));
    }
    return all;
  }

  double output_bytes() const override {
    // Adapters are written in bf16 or f32, weights in the type of the training.
    const std::size_t element =
        plan().lora && plan().type != DataType::bf16 ? sizeof(float) : size_of(plan().type);
    return plan().trained_parameters() * static_cast<double>(element);
  }

  Status check_output(const std::string& folder) const override {
    return assay::check_output(folder, settings_.weights, plan().lora.has_value());
  }

  Status write_weights(Training& training, Stream& stream,
                       const std::string& folder) const override {
    if (plan().lora) {
      return save_adapters(training, stream, plan().adapters(), *plan().lora, settings_.weights,
                           folder);
    }
    return save_weights(training, stream, plan().shape,
                        TransformerParameters::of(plan().shape, plan().layout()), settings_.weights,
                        folder);
  }

 protected:
  double keys() const override { return counted().keys; }

 private:
  /// Zeros, if the documents cannot be read, which create() reports.
  DocumentCounts counted() const {
    if (counts_) return *counts_;
    const auto all = rows();
    if (!all.ok()) return {};
    counts_ = count_documents(**all, data_.packing);
    return *counts_;
  }

  /// The rows to train on, and after them those that are held back; made when they are needed.
  Result<const PackedRows*> rows() const {
    if (rows_) return &*rows_;
    if (data_.file.empty()) {
      const std::int64_t batches = document_batches * data_.batch_cuts + document_batches_held_back;
      rows_ = synthetic_documents(static_cast<std::int32_t>(plan().shape.vocabulary),
                                  plan().batch * batches, plan().sequence, settings_.seed,
                                  data_.packing);
      return &*rows_;
    }
    auto read = TRY(read_instructions({.file = data_.file,
                                       .model = settings_.weights,
                                       .chat_template = data_.chat_template,
                                       .loss_on_all = data_.loss_on_all,
                                       .vocabulary = plan().shape.vocabulary,
                                       .cache = instruction_cache_folder()}));
    PackedDocuments packed =
        pack_documents(read.documents, plan().sequence, data_.packing, settings_.seed);
    documents_ = std::exchange(read.documents, {}).count();
    read_ = std::move(read);
    cut_ = packed.cut;
    rows_ = std::move(packed.rows);
    return &*rows_;
  }

  /// A tenth of a file's rows, or none if that is less than one.
  std::int64_t held_back_rows(const PackedRows& all) const {
    return data_.file.empty() ? plan().batch * document_batches_held_back : all.rows / 10;
  }

  FinetuneData data_;
  mutable std::optional<PackedRows> rows_;
  mutable std::optional<DocumentCounts> counts_;      ///< of the rows
  mutable std::optional<InstructionDocuments> read_;  ///< from a file; without the documents
  mutable std::size_t documents_ = 0;                 ///< their number
  mutable std::optional<std::size_t> steps_of_epochs_;
  mutable std::int64_t cut_ = 0;  ///< documents longer than a row
};

}  // namespace

std::unique_ptr<TrainModel> finetune_model(TransformerSettings settings, FinetuneData data) {
  return std::make_unique<FinetuneModel>(std::move(settings), std::move(data));
}

}  // namespace assay
