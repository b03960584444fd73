// Collective operations between threads of one process, computed simply and in rank order; it
// replaces libraries in tests of their callers.
#pragma once

#include <algorithm>
#include <barrier>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "advise/selftest/contracts/reference_reduction.h"
#include "ranks/collective/communicator.h"

namespace assay {

/// The shared state of a communicator's ranks. A fault can be planted into their results.
struct Meeting {
  explicit Meeting(int size) : ranks(size), barrier(ranks), calls(static_cast<std::size_t>(size)) {}

  int ranks;
  bool queues = false;  ///< whether operations are queued on the stream
  std::barrier<> barrier;
  std::vector<CollectiveCall> calls;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> mail;  ///< keyed by (from, to)
  /// On rank `fault_rank`, byte `fault_at` of the receive buffer (or the send buffer) is corrupted.
  int fault_rank = -1;
  std::size_t fault_at = 0;
  bool fault_in_send = false;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  std::string library() const override { return "threads 1.0"; }
  int rank() const override { return rank_; }
  int size() const override { return meeting_.ranks; }
  bool queues_on_stream() const override { return meeting_.queues; }
  std::optional<std::string> unsupported(CollectiveOperation, DataType, Reduction) const override {
    return std::nullopt;
  }
  Status enqueue(const CollectiveCall& call, Stream& stream) override {
    return stream.call([this, call] { run_now(call); });
  }
  Status enqueue(std::span<const Message> sends, std::span<const Message> receives,
                 Stream& stream) override {
    std::vector<Message> out(sends.begin(), sends.end()), in(receives.begin(), receives.end());
    return stream.call([this, out, in] { transfer_now(out, in); });
  }
  Status status() const override { return {}; }
  Result<std::unique_ptr<Communicator>> split(int, int, const CommunicatorConfig&) override {
    return Error{ErrorKind::unsupported, "threads 1.0 has no split"};
  }
  Status run(const CollectiveCall& call, Stream& stream) override {
    if (meeting_.queues) return enqueue(call, stream);
    run_now(call);
    return {};
  }
  Status transfer(std::span<const Message> sends, std::span<const Message> receives,
                  Stream& stream) override {
    if (meeting_.queues) return enqueue(sends, receives, stream);
    transfer_now({sends.begin(), sends.end()}, {receives.begin(), receives.end()});
    return {};
  }

 private:
  using Bytes = std::vector<std::byte>;
  using Operation = CollectiveOperation;

  void run_now(const CollectiveCall& call) {
    meeting_.calls[static_cast<std::size_t>(rank_)] = call;
    meeting_.barrier.arrive_and_wait();
    Bytes result = result_of(call);
    meeting_.barrier.arrive_and_wait();  // in place, no rank may write before all have read
    std::copy(result.begin(), result.end(), static_cast<std::byte*>(call.receive));
    const bool barrier = call.count == 1;
    if (rank_ == meeting_.fault_rank && !barrier) {
      void* to = meeting_.fault_in_send ? const_cast<void*>(call.send) : call.receive;
      static_cast<unsigned char*>(to)[meeting_.fault_at] ^= 1;
    }
    meeting_.barrier.arrive_and_wait();
  }

  const std::byte* sent_by(int rank) const {
    return static_cast<const std::byte*>(meeting_.calls[static_cast<std::size_t>(rank)].send);
  }

  Bytes result_of(const CollectiveCall& call) const {
    const std::size_t block = call.count * size_of(call.type);
    const std::size_t mine = block * static_cast<std::size_t>(rank_);
    const auto copy = [&](int source, std::size_t at) {
      return Bytes(sent_by(source) + at, sent_by(source) + at + block);
    };
    const auto of_all = [&](std::size_t at) {
      Bytes all;
      for (int source = 0; source < meeting_.ranks; ++source) {
        const Bytes one = copy(source, at);
        all.insert(all.end(), one.begin(), one.end());
      }
      return all;
    };
    const bool root = rank_ == call.root;
    switch (call.operation) {
      case Operation::all_reduce:
        return reduced(call, 0);
      case Operation::reduce:
        return root ? reduced(call, 0) : Bytes();
      case Operation::reduce_scatter:
        return reduced(call, static_cast<std::size_t>(rank_) * call.count);
      case Operation::broadcast:
        return copy(call.root, 0);
      case Operation::scatter:
        return copy(call.root, mine);
      case Operation::send_recv:
        return copy((rank_ + meeting_.ranks - 1) % meeting_.ranks, 0);
      case Operation::all_gather:
        return of_all(0);
      case Operation::gather:
        return root ? of_all(0) : Bytes();
      case Operation::all_to_all:
        return of_all(mine);
    }
    return {};
  }

  Bytes reduced(const CollectiveCall& call, std::size_t first) const {
    std::vector<const void*> sends;
    for (int rank = 0; rank < meeting_.ranks; ++rank) sends.push_back(sent_by(rank));
    Bytes result(call.count * size_of(call.type));
    with_element(call.type, [&]<typename T>(T) {
      for (std::size_t i = 0; i < call.count; ++i) {
        const T value = selftest::reference_reduced<T>(sends, first + i, call.reduction);
        std::memcpy(result.data() + i * sizeof(T), &value, sizeof(T));
      }
    });
    return result;
  }

  void transfer_now(const std::vector<Message>& out, const std::vector<Message>& in) {
    std::unique_lock lock(meeting_.mutex);
    for (const Message& message : out) {
      const auto* data = static_cast<const std::byte*>(message.data);
      meeting_.mail[{rank_, message.peer}].emplace_back(data, data + message.bytes);
    }
    meeting_.changed.notify_all();
    for (const Message& message : in) {
      auto& box = meeting_.mail[{message.peer, rank_}];
      meeting_.changed.wait(lock, [&] { return !box.empty(); });
      std::memcpy(message.data, box.front().data(), message.bytes);
      box.pop_front();
      if (rank_ == meeting_.fault_rank && message.bytes > meeting_.fault_at) {
        static_cast<unsigned char*>(message.data)[meeting_.fault_at] ^= 1;
      }
    }
  }

  Meeting& meeting_;
  int rank_;
};

}  // namespace assay
