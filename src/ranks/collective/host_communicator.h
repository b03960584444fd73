// What communicators share that work on the host: their operations become work of a stream as host
// functions.
#pragma once

#include <optional>
#include <string>

#include "core/mutex.h"
#include "ranks/collective/communicator.h"

namespace assay {

class HostCommunicator : public Communicator {
 public:
  bool queues_on_stream() const final { return false; }
  Status enqueue(const CollectiveCall& call, Stream& stream) final;
  Status enqueue(std::span<const Message> sends, std::span<const Message> receives,
                 Stream& stream) final;
  Status status() const final;

 protected:
  /// Why host functions cannot call this library; empty: they can.
  virtual std::optional<std::string> no_host_functions() const { return std::nullopt; }

 private:
  Status can_queue() const;
  template <typename Operation>
  Status queue(Stream& stream, Operation operation);

  mutable Mutex mutex_;
  Status first_ GUARDED_BY(mutex_);  // the first error, or ok
};

}  // namespace assay
