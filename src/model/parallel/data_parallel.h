// Data parallelism: ranks that train one model, each on its own batches. They communicate through a
// second stream, while the passes compute. Gradients are reduced section by section as the backward
// pass completes them; weights that are kept in slices are gathered one section before they are
// used. All of it can be captured.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "model/operations/elementwise.h"
#include "model/operations/operation_cost.h"
#include "model/parallel/model_ranks.h"
#include "model/parallel/parameter_arenas.h"
#include "model/tensors/parameter_plan.h"

namespace assay {

using TrainingRanks = ModelRanks;

/// The first section of each bucket. Sections are complete from the last one to the first, and a
/// bucket ends where it has `least_bytes` bytes or at the model's first section.
std::vector<std::size_t> first_sections_of_buckets(const std::vector<Section>& sections,
                                                   std::size_t element_bytes,
                                                   std::uint64_t least_bytes);

/// All ranks make the same calls in the same order. `stream` is always the one of the passes.
class DataParallel {
 public:
  /// `arenas` and `elementwise` must stay where they are. Error: unsupported, if the communicator
  /// cannot add up the plan's type; of allocating.
  static Result<std::unique_ptr<DataParallel>> create(Device& device, TrainingRanks ranks,
                                                      const ParameterPlan& plan,
                                                      const ParameterArenas& arenas,
                                                      Elementwise& elementwise);

  int rank() const { return ranks_.communicator->rank(); }
  int size() const { return ranks_.communicator->size(); }

  /// Before the first pass of a step.
  Status begin(Stream& stream);
  /// Before each pass. Gradients are complete in the last one.
  void begin_pass(bool first, bool last);
  /// Later work of the stream reads the weights of a section, in a forward or a backward pass.
  Status open_weights(Stream& stream, Phase phase, std::size_t section);
  /// The work queued so far was the last to read them.
  Status close_weights(Stream& stream, std::size_t section);
  /// Later work writes the gradients of a section. May be called again before they are closed.
  Status open_gradients(Stream& stream, std::size_t section);
  /// The work queued so far completes them for this pass.
  Status close_gradients(Stream& stream, std::size_t section);
  /// Sends the gradients of a section at once, although gather_rows() will bring what is to be
  /// added to their sums; instead of closing them.
  Status send_gradients(Stream& stream, std::size_t section);
  /// Sends what still waits to be sent, and gathers `elements` of gradients of each rank, to be
  /// added to those of send_gradients(). All of them, [ranks, elements], will be where this says,
  /// which work queued after take_rows() finds. Gradients that are closed from now on are sent at
  /// once: they are the last. After reserve_rows() of as many.
  Result<const void*> gather_rows(Stream& stream, const void* rows, std::uint64_t elements);
  Status take_rows(Stream& stream);
  Status reserve_rows(std::uint64_t elements);
  /// Does what finish() does, without the sums that were queued last, which may still be in flight:
  /// those of the sections before the one that it returns.
  Result<std::size_t> await_all_but_last(Stream& stream);
  /// Later work finds the gradients that this rank updates from added up over all ranks and passes.
  Status finish(Stream& stream);
  /// Adds up floats on the device; not between begin() and finish().
  Status sum(Stream& stream, float* floats, std::size_t count);

  /// All elements of a section of a part, as update left them, in memory of the device: valid until
  /// the next call. Not between begin() and finish(). Null if the plan has no such part.
  Result<const void*> gather(Stream& stream, ParameterPart part, std::size_t section);
  /// Waits until the stream is idle. Error: failed, if a rank is lost, or an operation failed.
  Status wait(Stream& stream);

  /// Sends this many bytes of gradients at once from now on, instead of the plan's.
  void set_bucket(std::uint64_t bytes);

  /// From now on nothing is queued on the stream of the exchange, neither operations nor what
  /// prepares and adds up their buffers, and nothing waits for it, to see what all of that costs:
  /// the ranks' weights are no longer the same.
  void leave_out_exchange(bool left_out) { left_out_ = left_out; }
  bool leaves_out_exchange() const { return left_out_; }
  /// The collectives since begin().
  const std::vector<CollectiveCall>& exchanged() const { return exchanged_; }

  /// Allocated.
  std::uint64_t bytes() const;

 private:
  /// Sections whose gradients are sent together.
  struct Bucket {
    std::size_t first = 0, end = 0;  // sections
  };

  DataParallel(Device& device, TrainingRanks ranks, const ParameterPlan& plan,
               const ParameterArenas& arenas, Elementwise& elementwise)
      : device_(device), ranks_(ranks), plan_(plan), arenas_(arenas), elementwise_(elementwise) {}
  Status allocate();
  /// Later work of the second stream comes after what is queued on the first, unless nothing is
  /// told.
  Status follow(Stream& stream);
  /// What is queued next are the last sums so far, of sections up to `end`.
  Status begin_last(std::size_t end);
  Status gather_weights(std::size_t section);
  Status send(Stream& stream, Bucket bucket);
  Status add_up(Bucket bucket);
  Status add_up_in_f32(std::size_t section);
  Status scatter_sums(std::size_t section);
  bool is_added(std::size_t section) const;
  Status enqueue(CollectiveOperation operation, const void* send, void* receive, std::size_t count,
                 DataType type);

  Device& device_;
  const TrainingRanks ranks_;
  const ParameterPlan plan_;
  const ParameterArenas& arenas_;
  Elementwise& elementwise_;
  std::unique_ptr<Stream> stream_;  // of the exchange
  std::unique_ptr<Event> idle_, queued_, done_;
  std::unique_ptr<Event> before_last_;  // of the sums queued so far
  std::unique_ptr<Event> rows_gathered_;
  Buffer sums_;   // f32, of the largest section, if gradients are added up in f32
  Buffer slice_;  // of the largest section's gradients, to add to those of earlier passes
  Buffer whole_;  // for gather(): it must not fail on one rank alone
  Buffer rows_;   // for gather_rows()
  // Filled where the passes wait for gathered weights: of a captured step, this fill follows both
  // streams, and kernels only the fill. Where kernels followed both, CUDA replayed steps of zero1
  // 4% slower (1.5B, H100 and H200); how it assigns nodes to the device's queues is not known.
  Buffer meeting_;

  std::vector<bool> ends_bucket_;  // by section

  bool left_out_ = false;
  // What has been queued since begin(), and which events mark it.
  std::vector<CollectiveCall> exchanged_;
  bool first_pass_ = true, last_pass_ = true;
  std::optional<Bucket> waiting_;  // complete, but too few yet to be sent
  std::size_t end_of_last_ = 0;    // of the sections summed after before_last_
  bool rows_are_sent_ = false;
  std::vector<std::unique_ptr<Event>> gathered_;  // by section
  std::vector<bool> is_gathered_, gradients_open_;
  struct Turn {
    std::optional<std::size_t> weights;  // the section whose weights are in this place
    bool was_read = false;               // and `read` marks the end of that
    bool was_sent = false;               // the gradients in this place, and `sent` marks the end
    std::unique_ptr<Event> read, sent;
  };
  std::array<Turn, 2> turns_;
};

}  // namespace assay
