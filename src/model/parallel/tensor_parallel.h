// Tensor parallelism: the communication of ranks that compute each layer of one model together. All
// of it is work of the pass's stream, and can be captured with it.
#pragma once

#include <memory>
#include <vector>

#include "compute/device/device.h"
#include "core/result.h"
#include "model/parallel/model_ranks.h"

namespace assay {

/// All ranks make the same calls in the same order.
class TensorParallel {
 public:
  /// `type`: the type of the elements. Error: unsupported, if the communicator cannot reduce it.
  static Result<std::unique_ptr<TensorParallel>> create(Device& device, ModelRanks ranks,
                                                        DataType type);

  int rank() const { return ranks_.communicator->rank(); }
  int size() const { return ranks_.communicator->size(); }

  /// Before a pass.
  void begin() {
    if (!left_out_) exchanged_.clear();
  }
  /// `summands` becomes the sum of all ranks', with the same bits on each.
  Status add_up(Stream& stream, void* summands, std::int64_t count);
  /// `all` becomes the `count` elements of each rank's `own`, in the order of the ranks.
  Status gather(Stream& stream, void* all, const void* own, std::int64_t count);
  /// Waits until the stream is idle. Error: failed, if a rank is lost, or an operation failed.
  Status wait(Stream& stream);

  /// Leaves the communication out of passes from now on, to measure its cost. Their results are of
  /// no use.
  void leave_out_exchange(bool left_out) { left_out_ = left_out; }
  /// The collectives of the last complete pass.
  const std::vector<CollectiveCall>& exchanged() const { return exchanged_; }
  /// Queues that again, with nothing beside it.
  Status repeat(Stream& stream);

 private:
  TensorParallel(ModelRanks ranks, DataType type, std::unique_ptr<Event> idle)
      : ranks_(ranks), type_(type), idle_(std::move(idle)) {}
  Status enqueue(Stream& stream, const CollectiveCall& call);

  const ModelRanks ranks_;
  const DataType type_;
  const std::unique_ptr<Event> idle_;
  bool left_out_ = false;
  std::vector<CollectiveCall> exchanged_;
};

}  // namespace assay
