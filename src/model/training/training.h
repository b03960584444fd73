// Training a model, on one device or as one of several ranks: its parameters and the optimizer's
// states, steps of passes and an update, and the losses. A step needs nothing from the host, so one
// captured graph replays it. A model adds its forward and backward pass.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/device/device.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "core/result.h"
#include "model/operations/loss_history.h"
#include "model/operations/weight_update.h"
#include "model/parallel/data_parallel.h"
#include "model/parallel/parameter_arenas.h"
#include "model/parallel/step_simulation.h"
#include "model/tensors/parameter_plan.h"
#include "model/tensors/tensor_layout.h"
#include "model/training/operation_clock.h"

namespace assay {

/// The factor of losses in f16, so that small gradients are not lost. When a gradient is not
/// finite, it is halved and the update is skipped; after growth_interval steps without that it is
/// doubled. The values are those of PyTorch's GradScaler; 2000 steps are also in NVIDIA's guide,
/// Train With Mixed Precision.
struct LossScaling {
  float initial = 65536;
  unsigned growth_interval = 2000;
};

struct TrainingSettings {
  DataType precision = DataType::bf16;  ///< f32, tf32, bf16, f16; f32 and tf32 share the type f32
  std::int64_t accumulate = 1;          ///< passes whose gradients make one update
  UpdateSettings update = {0.9f, 0.999f, 1e-8f, 0.01f, 1.0f};  ///< AdamW's, and clipping at 1
  LossScaling loss_scaling;
  std::vector<float> rates = {1e-3f};  ///< learning rate of each step, the last from then on
  std::uint64_t seed = 1;              ///< of initial weights and stochastic rounding
  bool measured_products = true;       ///< whether algorithms of matrix products are measured
  /// The ranks that train together; null: this one alone. Batches are dealt to the ranks in turn,
  /// so that the same ones make an update however many ranks there are, as long as ranks *
  /// accumulate is the same.
  TrainingRanks ranks;
  /// If set, it is asked while the first step chooses implementations, which takes seconds, and
  /// between the passes of that step. Ranks that communicate leave it unset: if one ended, the
  /// others would wait for it.
  std::function<bool()> stop_requested;
};

/// Rising from 0 to `peak` over `warmup` steps, then falling along a cosine to a tenth of it at
/// `steps` (Loshchilov & Hutter 2017, as nanoGPT does).
std::vector<float> warmup_and_cosine(float peak, std::int64_t warmup, std::int64_t steps);

/// Rising as above, then falling in a line that would reach 0 at `steps`, as transformers does.
std::vector<float> warmup_and_linear(float peak, std::int64_t warmup, std::int64_t steps);

class Training {
 public:
  virtual ~Training() = default;
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  /// Queues one step. The first one chooses and compiles what it needs, and so must not be
  /// captured; if it may be asked to stop, it waits for each of its passes. `clock`, unless null,
  /// marks the end of each operation. Error: interrupted, if the first step was asked to stop;
  /// weights and state are then as before it.
  Status step(Stream& stream, OperationClock* clock = nullptr);
  /// Queues a step without communication: the time it saves is the cost of the exchange. Afterwards
  /// the ranks' weights differ. `recorder`, unless null, records its calls.
  Status step_without_exchange(Stream& stream, StepRecorder* recorder = nullptr);
  /// Updates leave the weights unchanged from now on, so that the time of a step does not depend on
  /// the steps before it.
  Status hold_weights(Stream& stream) { return update_->hold_weights(stream); }
  /// Queues the communication of a step, without its passes and its update. Gradients are lost.
  Status exchange_alone(Stream& stream);
  /// The operations of the last step or exchange. Empty: alone.
  std::vector<CollectiveCall> exchanged() const {
    return parallel_ ? parallel_->exchanged() : std::vector<CollectiveCall>();
  }
  /// Ranks send this many bytes of gradients at once from now on, instead of the plan's.
  void set_bucket(std::uint64_t bytes) {
    if (parallel_) parallel_->set_bucket(bytes);
  }
  /// Pass `number` of a step, forward and backward; from the second on it adds to the gradients.
  virtual Status pass(Stream& stream, std::uint64_t number) = 0;

  /// Waits until the stream is idle. Error: failed, if another rank is lost.
  Status settle(Stream& stream);

  /// Mean losses of steps first ... first + count of those the device still remembers. All ranks
  /// call it together.
  Result<std::vector<float>> losses(Stream& stream, std::uint64_t first, std::uint64_t count);
  /// What this rank's batches add to them. The stream must be idle.
  Result<std::vector<float>> own_losses(Stream& stream, std::uint64_t first,
                                        std::uint64_t count) const {
    return history_->read(stream, first, count);
  }
  Result<StepState> state(Stream& stream);
  Status set_state(Stream& stream, const StepState& state);

  /// Returns whether gradients are scaled, as those of f16 are: StepState::loss_scale and after it.
  bool scales_loss() const { return parameter_plan_.type == DataType::f16; }

  /// Among those that train together, from 0.
  int rank() const { return parallel_ ? parallel_->rank() : 0; }
  const ParameterArenas& arenas() const { return arenas_; }
  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  std::int64_t accumulate() const { return training_.accumulate; }
  const ParameterPlan& plan_of_parameters() const { return parameter_plan_; }
  /// One section of a part in the device's memory, valid until the next call; null if the plan has
  /// no such part. All ranks call it together.
  Result<const void*> section(Stream& stream, ParameterPart part, std::size_t index);
  /// All weights or gradients as f32, laid out as tensors() says; gradients without the loss scale,
  /// if the update after them has not changed it. All ranks call it together.
  Result<std::vector<float>> weights(Stream& stream) {
    return read(stream, ParameterPart::weights);
  }
  Result<std::vector<float>> gradients(Stream& stream);
  /// Names and values that a checkpoint of this training holds beside its tensors. A checkpoint
  /// from which the training continues must not have other values.
  virtual Result<std::vector<std::pair<std::string, std::string>>> identity(Stream&) {
    return std::vector<std::pair<std::string, std::string>>();
  }
  /// A checksum of all weights and their places. All ranks call it together, and get the same.
  Result<std::uint64_t> checksum(Stream& stream);
  /// Begins anew: initial weights from the seed, step 0, moments 0.
  Status restart(Stream& stream);
  /// Begins anew with these weights. Error: usage if their number is not the model's.
  Status restart(Stream& stream, const std::vector<float>& weights);

  /// The mean loss over batches that no step trains on; empty if none were held back. It leaves
  /// weights and the history of losses as they are. All ranks call it together.
  Result<std::optional<double>> held_back_loss(Stream& stream);

  /// A hash of the data for training and validation, equal on ranks that read the same. Empty: the
  /// data are made from the seed.
  const std::string& data_hash() const { return data_hash_; }

  /// The implementations that were chosen, such as that of GEMMs, known after the first step.
  virtual std::vector<std::pair<std::string, std::string>> notes() const {
    return {{"products", plans_.libraries()}};
  }
  /// Bytes allocated on the device.
  virtual std::uint64_t allocated_bytes() const;

 protected:
  /// On the device: f32 [rows].
  struct Losses {
    const void* address;
    std::int64_t rows;
  };
  /// Batches that no step trains on.
  struct HeldBack {
    std::int64_t batches = 0;
    std::int64_t counted = 0;               ///< their losses that count
    const std::int32_t* targets = nullptr;  ///< BatchChoice::targets
  };

  /// `device` and `stream` must outlive it.
  Training(Device& device, Stream& stream, TrainingSettings settings, const ParameterPlan& plan);

  /// Error: exhausted if the device has fewer bytes free, naming them and what would fit by
  /// what_would_fit(free bytes).
  Status check_memory(const TrainingMemory& needed,
                      const std::function<std::string(std::uint64_t)>& what_would_fit) const;
  /// Allocates what is kept of the parameters, all of it 0. `sections`, `kept`, `before_gradients`:
  /// as ParameterArenas::allocate().
  Status allocate_parameters(Stream& stream, std::vector<NamedTensor> tensors,
                             std::vector<Section> sections, std::size_t kept,
                             std::size_t before_gradients = 0);
  /// Adds weights that are not trained to checksum().
  virtual Status add_checksum(Stream&, Elementwise&, std::uint64_t* /*sum*/) { return {}; }
  /// Writes the weights that begin with something else than 0 to where weight() is, section by
  /// section, each followed by keep_initial().
  virtual Status write_initial_weights(Stream& stream) = 0;
  Status keep_initial(Stream& stream, std::size_t section);
  Status allocate(Buffer& buffer, std::uint64_t bytes);

  virtual HeldBack held_back() const = 0;
  /// Queues a forward pass over one of them, and says where its losses will be.
  virtual Result<Losses> held_back_pass(Stream& stream, BatchChoice choice) = 0;

  /// The batch that pass `number` reads, out of `batches` on the device. `targets`: those of each
  /// batch that count, on the device; null: all.
  BatchChoice choose_batch(std::uint64_t number, std::int64_t batches,
                           const std::int32_t* targets = nullptr) const {
    return choose_batch_of(rank(), number, batches, targets);
  }
  /// The batch of any rank; all have all batches.
  BatchChoice choose_batch_of(int rank, std::uint64_t number, std::int64_t batches,
                              const std::int32_t* targets = nullptr) const;
  /// Keeps the mean of the losses of pass `number`.
  Status record_losses(Stream& stream, const Losses& losses, BatchChoice choice,
                       std::uint64_t number) {
    return history_->record(stream, losses.address, choice, losses.rows, number == 0);
  }
  /// Marks the end of an operation that has been queued.
  Status timed(Stream& stream, Phase phase, std::string_view name, Status queued);

  // Each pass reports which sections it uses, for DataParallel; with one rank these do nothing.

  /// Later work reads the weights of a section, and in a backward pass writes its gradients.
  Status enter(Stream& stream, Phase phase, std::size_t section);
  /// The work queued so far was the last of this pass to do so.
  Status leave(Stream& stream, Phase phase, std::size_t section);
  Status open_weights(Stream& stream, Phase phase, std::size_t section);
  Status close_weights(Stream& stream, std::size_t section);
  Status open_gradients(Stream& stream, std::size_t section);
  Status close_gradients(Stream& stream, std::size_t section);
  /// Allocates memory for gather_rows() of `elements` elements per rank, in the last pass of every
  /// step. They complete the first section's gradients. With one rank it does nothing.
  Status allocate_rows(std::uint64_t elements);
  /// Returns whether pass `number` gathers rows.
  bool gathers_rows(std::uint64_t number) const {
    return gathered_rows_ > 0 && number + 1 == std::uint64_t(training_.accumulate);
  }
  Status send_gradients(Stream& stream, std::size_t section);
  Result<const void*> gather_rows(Stream& stream, const void* rows);
  Status take_rows(Stream& stream);
  /// Returns whether the rows of `rank` are among them: of all ranks, or in a step without an
  /// exchange of this one alone.
  bool has_rows_of(int rank) const {
    return rank == this->rank() || !parallel_->leaves_out_exchange();
  }
  int ranks() const { return parallel_ ? parallel_->size() : 1; }
  /// Returns whether pass `number` adds to the gradients of a section that are there.
  bool adds_gradients(std::size_t section, std::uint64_t number) const {
    return number > 0 && !arenas_.turn(section);
  }

  void* weight(const Tensor& t) const { return arenas_.weight(t); }
  void* weight_or_null(const Tensor& t) const { return t.elements() > 0 ? weight(t) : nullptr; }
  void* gradient(const Tensor& t) const { return arenas_.gradient(t); }
  void* gradient_or_null(const Tensor& t) const { return t.elements() > 0 ? gradient(t) : nullptr; }

  Device& device_;
  const TrainingSettings training_;
  const std::size_t element_;  // bytes of a parameter or activation
  std::string data_hash_;
  GemmPlans plans_;

 private:
  /// Ends the first step between its passes if that is asked for.
  Status stop_if_asked(Stream& stream) const;
  /// After the weights were written: step 0, moments 0.
  Status begin(Stream& stream);
  Result<std::vector<float>> read(Stream& stream, ParameterPart part);
  Status begin_step(Stream& stream);
  /// Adds gradients to their norm while the last of them are exchanged.
  Status square_all_but_last(Stream& stream);
  Status note(Stream& stream, const StepCall& call);
  SumOverRanks sum_over_ranks() const;

  bool has_stepped_ = false;  // since it was made
  const ParameterPlan parameter_plan_;
  std::vector<NamedTensor> tensors_;
  ParameterArenas arenas_;
  std::unique_ptr<DataParallel> parallel_;  // null: alone
  std::uint64_t gathered_rows_ = 0;         // elements of each rank
  OperationClock* clock_ = nullptr;         // during a step that is timed
  StepRecorder* recorder_ = nullptr;        // during a step whose calls are noted
  std::optional<WeightUpdate> update_;
  std::optional<LossHistory> history_;
  std::optional<Elementwise> elementwise_;
  Buffer state_;
};

}  // namespace assay
