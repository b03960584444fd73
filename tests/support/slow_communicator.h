// A communicator that delays its operations, so that tests know what waits for it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "ranks/collective/communicator.h"

namespace assay {

/// Wraps another communicator; each of its queued operations takes `seconds` longer.
class SlowCommunicator final : public Communicator {
 public:
  SlowCommunicator(Communicator& other, double seconds) : other_(other), seconds_(seconds) {}

  std::string library() const override { return other_.library(); }
  int rank() const override { return other_.rank(); }
  int size() const override { return other_.size(); }
  bool queues_on_stream() const override { return other_.queues_on_stream(); }
  std::optional<std::string> unsupported(CollectiveOperation operation, DataType type,
                                         Reduction reduction) const override {
    return other_.unsupported(operation, type, reduction);
  }
  Status run(const CollectiveCall& call, Stream& stream) override {
    return other_.run(call, stream);
  }
  Status transfer(std::span<const Message> sends, std::span<const Message> receives,
                  Stream& stream) override {
    return other_.transfer(sends, receives, stream);
  }
  Status enqueue(const CollectiveCall& call, Stream& stream) override {
    TRY(stream.call(
        [this] { std::this_thread::sleep_for(std::chrono::duration<double>(seconds_)); }));
    return other_.enqueue(call, stream);
  }
  Status enqueue(std::span<const Message> sends, std::span<const Message> receives,
                 Stream& stream) override {
    return other_.enqueue(sends, receives, stream);
  }
  Status status() const override { return other_.status(); }
  Result<std::unique_ptr<Communicator>> split(int colour, int key,
                                              const CommunicatorConfig& config) override {
    return other_.split(colour, key, config);
  }

 private:
  Communicator& other_;
  double seconds_;
};

}  // namespace assay
