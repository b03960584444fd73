#include "ranks/collective/recorded_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compute/device/queued_operation.h"

namespace assay {
namespace {

class RecordedCommunicator final : public Communicator {
 public:
  explicit RecordedCommunicator(std::unique_ptr<Communicator> inner) : inner_(std::move(inner)) {}

  std::string library() const override { return inner_->library(); }
  std::string path() const override { return inner_->path(); }
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  bool queues_on_stream() const override { return inner_->queues_on_stream(); }
  std::optional<std::string> unsupported(CollectiveOperation operation, DataType type,
                                         Reduction reduction) const override {
    return inner_->unsupported(operation, type, reduction);
  }
  Status run(const CollectiveCall& call, Stream& stream) override {
    return described(stream, described_call(call), [&] { return inner_->run(call, stream); });
  }
  Status transfer(std::span<const Message> sends, std::span<const Message> receives,
                  Stream& stream) override {
    return described(stream, described_messages(sends, receives),
                     [&] { return inner_->transfer(sends, receives, stream); });
  }
  Status enqueue(const CollectiveCall& call, Stream& stream) override {
    return described(stream, described_call(call), [&] { return inner_->enqueue(call, stream); });
  }
  Status enqueue(std::span<const Message> sends, std::span<const Message> receives,
                 Stream& stream) override {
    return described(stream, described_messages(sends, receives),
                     [&] { return inner_->enqueue(sends, receives, stream); });
  }
  Status status() const override { return inner_->status(); }
  Status begin_group() override {
    in_group_ = true;
    return inner_->begin_group();
  }
  Status end_group() override {
    in_group_ = false;
    Status ended = inner_->end_group();
    if (Stream* const stream = std::exchange(group_stream_, nullptr)) TRY(stream->end_operation());
    return ended;
  }
  Result<std::unique_ptr<Communicator>> split(int colour, int key,
                                              const CommunicatorConfig& config) override {
    auto part = TRY(inner_->split(colour, key, config));
    if (part == nullptr) return part;
    return std::unique_ptr<Communicator>(std::make_unique<RecordedCommunicator>(std::move(part)));
  }
  Result<Registration> register_memory(void* address, std::size_t bytes) override {
    return inner_->register_memory(address, bytes);
  }
  void abort() override { inner_->abort(); }

 private:
  /// Operations of a group begin together when it ends, so the whole group counts as one: the
  /// recorder adds the sizes of collectives inside a collective to it.
  template <typename Queue>
  Status described(Stream& stream, const QueuedOperation& operation, const Queue& queue) {
    if (in_group_ && group_stream_ == nullptr) {
      TRY(stream.begin_operation(operation));
      group_stream_ = &stream;
      return queue();
    }
    if (in_group_ && group_stream_ != &stream) return queue();
    return queue_operation(
        stream, [&] { return operation; }, queue);
  }

  QueuedOperation described_call(const CollectiveCall& call) const {
    const std::size_t whole = elements_of(call.operation, call.count, size());
    const auto is = [&](auto... operations) { return ((call.operation == operations) || ...); };
    QueuedOperation operation;
    operation.collective = name_of(call.operation);
    operation.name = fmt::format("{} {}", name_of(call.operation), name_of(call.type));
    operation.types = name_of(call.type);
    using enum CollectiveOperation;
    operation.sent = is(all_gather, gather) ? call.count : whole;
    operation.received = is(reduce_scatter, scatter) ? call.count : whole;
    operation.ranks = size();
    const auto bytes = static_cast<double>(bytes_of(call, size()));
    operation.bytes = bytes;
    operation.bus_bytes = bytes * bus_factor(call.operation, size());
    return operation;
  }

  QueuedOperation described_messages(std::span<const Message> sends,
                                     std::span<const Message> receives) const {
    QueuedOperation operation;
    operation.collective = operation.name = "send_recv";
    operation.types = name_of(DataType::u8);
    for (const Message& message : sends) operation.sent += message.bytes;
    for (const Message& message : receives) operation.received += message.bytes;
    operation.ranks = size();
    operation.bytes = static_cast<double>(std::max(operation.sent, operation.received));
    operation.bus_bytes = operation.bytes;
    return operation;
  }

  const std::unique_ptr<Communicator> inner_;
  bool in_group_ = false;
  Stream* group_stream_ = nullptr;  // of the group's first operation
};

}  // namespace

std::unique_ptr<Communicator> recorded_on(const Device& device,
                                          std::unique_ptr<Communicator> communicator) {
  if (!device.is_recorded() || communicator == nullptr) return communicator;
  return std::make_unique<RecordedCommunicator>(std::move(communicator));
}

}  // namespace assay
