#include "model/parallel/tensor_parallel.h"

#include "ranks/collective/communicators.h"

namespace assay {

Result<std::unique_ptr<TensorParallel>> TensorParallel::create(Device& device, ModelRanks ranks,
                                                               DataType type) {
  using enum CollectiveOperation;
  for (const CollectiveOperation operation : {all_reduce, all_gather}) {
    if (auto reason = ranks.communicator->unsupported(operation, type, Reduction::sum)) {
      return Error{ErrorKind::unsupported, *std::move(reason)};
    }
  }
  auto idle = TRY(device.create_event(EventKind::untimed));
  return std::unique_ptr<TensorParallel>(new TensorParallel(ranks, type, std::move(idle)));
}

Status TensorParallel::add_up(Stream& stream, void* summands, std::int64_t count) {
  return enqueue(stream, {.operation = CollectiveOperation::all_reduce,
                          .send = summands,
                          .receive = summands,
                          .count = static_cast<std::size_t>(count),
                          .type = type_});
}

Status TensorParallel::gather(Stream& stream, void* all, const void* own, std::int64_t count) {
  return enqueue(stream, {.operation = CollectiveOperation::all_gather,
                          .send = own,
                          .receive = all,
                          .count = static_cast<std::size_t>(count),
                          .type = type_});
}

Status TensorParallel::enqueue(Stream& stream, const CollectiveCall& call) {
  if (left_out_) return {};
  exchanged_.push_back(call);
  return ranks_.communicator->enqueue(call, stream);
}

Status TensorParallel::repeat(Stream& stream) {
  for (const CollectiveCall& call : exchanged_) {
    TRY(ranks_.communicator->enqueue(call, stream));
  }
  return {};
}

Status TensorParallel::wait(Stream& stream) {
  TRY(wait_for_ranks(*ranks_.communicator, stream, *idle_, *ranks_.team));
  return ranks_.communicator->status();
}

}  // namespace assay
