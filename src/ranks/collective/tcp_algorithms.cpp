#include "ranks/collective/tcp_algorithms.h"

#include <algorithm>
#include <cstring>

#include "ranks/collective/local_reduction.h"
#include "ranks/collective/tcp_stream.h"
#include "ranks/collective/tcp_transfer.h"

namespace assay {
namespace {

/// Pieces of a chain that have been received but not yet forwarded.
constexpr std::size_t chain_pieces = 8;

struct Part {
  std::size_t offset = 0, bytes = 0;
};

std::vector<Part> pieces_of(std::size_t offset, std::size_t bytes) {
  std::vector<Part> pieces;
  for (std::size_t done = 0; done < bytes; done += tcp_piece_bytes) {
    pieces.push_back({offset + done, std::min(tcp_piece_bytes, bytes - done)});
  }
  return pieces;
}

void copy_unless_same(void* to, const void* from, std::size_t bytes) {
  if (to != from && bytes > 0) std::memmove(to, from, bytes);
}

/// One operation on one rank.
class TcpOperation {
 public:
  TcpOperation(TcpLinks& links, TcpWorkspace& workspace, const CollectiveCall& call)
      : links_(links),
        workspace_(workspace),
        call_(call),
        ranks_(links.size()),
        rank_(links.rank()),
        bytes_(call.count * size_of(call.type)),
        send_(static_cast<const std::byte*>(call.send)),
        receive_(static_cast<std::byte*>(call.receive)) {
    stream_.type = call.type;
    stream_.reduction = call.reduction;
  }

  Status run() {
    switch (call_.operation) {
      case CollectiveOperation::all_reduce:
        return all_reduce();
      case CollectiveOperation::reduce_scatter:
        return reduce_scatter();
      case CollectiveOperation::all_gather:
        return all_gather();
      case CollectiveOperation::broadcast:
        return broadcast();
      case CollectiveOperation::reduce:
        return reduce();
      case CollectiveOperation::all_to_all:
        return all_to_all();
      case CollectiveOperation::gather:
        return gather();
      case CollectiveOperation::scatter:
        return scatter();
      case CollectiveOperation::send_recv:
        return exchange(next(1), next(-1), send_, receive_);
    }
    return {};
  }

 private:
  int next(int steps) const { return ((rank_ + steps) % ranks_ + ranks_) % ranks_; }
  std::size_t place(int rank) const { return static_cast<std::size_t>(rank) * bytes_; }

  /// Returns part `index` of the vector, which is cut into one part per rank, as equal as possible
  /// in elements.
  Part share(int index) const {
    const auto n = static_cast<std::size_t>(ranks_), i = static_cast<std::size_t>(index);
    const std::size_t each = call_.count / n, more = call_.count % n, size = size_of(call_.type);
    return {(i * each + std::min(i, more)) * size, (each + (i < more ? 1 : 0)) * size};
  }

  void ring() {
    stream_.to = next(1);
    stream_.from = next(-1);
  }

  /// Step s sends block rank - s and receives block rank - s - 1. In the first n - 1 steps received
  /// blocks are reduced, in the next n - 1 they are stored. A block returns only after every rank
  /// has received it, so this rank has sent it by then.
  Status all_reduce() {
    if (ranks_ == 1) return alone();
    ring();
    const auto block = [&](int step) {
      const Part part = share(next(-step));
      return pieces_of(part.offset, part.bytes);
    };
    const int steps = 2 * (ranks_ - 1);
    for (int step = 0; step < steps; ++step) {
      for (const Part& part : block(step)) {
        const std::byte* from = step == 0 ? send_ : receive_;
        stream_.sends.push_back({from + part.offset, part.bytes});
        if (step == 0) stream_.ready += part.bytes;
      }
      for (const Part& part : block(step + 1)) {
        const bool reduced = step < ranks_ - 1;
        stream_.receives.push_back({receive_ + part.offset, part.bytes,
                                    reduced ? send_ + part.offset : nullptr, 0,
                                    step == ranks_ - 2});
      }
    }
    return run_stream(links_, stream_);
  }

  /// Like the first half of all_reduce, shifted by one block so that this rank ends with its own.
  /// Blocks in transit are kept in a circular workspace of one block and a few pieces.
  Status reduce_scatter() {
    if (ranks_ == 1) return alone();
    ring();
    const std::vector<Part> pieces = pieces_of(0, bytes_);
    const std::size_t slots = pieces.size() + 4;
    std::byte* between = workspace_.at_least(slots * tcp_piece_bytes);
    const auto slot = [&](std::size_t index) { return between + index % slots * tcp_piece_bytes; };
    std::vector<std::size_t> sent_with;  // bytes of the stream up to the end of each sent piece
    const auto send = [&](const std::byte* from, std::size_t bytes) {
      stream_.sends.push_back({from, bytes});
      sent_with.push_back(bytes + (sent_with.empty() ? 0 : sent_with.back()));
    };
    for (const Part& part : pieces) send(send_ + place(next(-1)) + part.offset, part.bytes);
    stream_.ready = bytes_;
    std::size_t index = 0;
    for (int step = 0; step < ranks_ - 1; ++step) {
      const bool last = step == ranks_ - 2;
      for (const Part& part : pieces) {
        const std::byte* own = send_ + place(next(-2 - step)) + part.offset;
        if (last) {
          stream_.receives.push_back({receive_ + part.offset, part.bytes, own, 0, true});
          continue;
        }
        const std::size_t before = index < slots ? 0 : sent_with[pieces.size() + index - slots];
        stream_.receives.push_back({slot(index), part.bytes, own, before, false});
        send(slot(index), part.bytes);
        ++index;
      }
    }
    return run_stream(links_, stream_);
  }

  Status all_gather() {
    ring();
    copy_unless_same(receive_ + place(rank_), send_, bytes_);
    if (bytes_ == 0 || ranks_ == 1) return {};
    for (int step = 0; step < ranks_ - 1; ++step) {
      stream_.sends.push_back({receive_ + place(next(-step)), bytes_});
      stream_.receives.push_back({receive_ + place(next(-step - 1)), bytes_});
    }
    stream_.ready = bytes_;
    return run_stream(links_, stream_);
  }

  /// A chain from the root to the next rank, and so on.
  Status broadcast() {
    const bool first = rank_ == call_.root, last = next(1) == call_.root;
    if (first) copy_unless_same(receive_, send_, bytes_);
    if (bytes_ == 0 || ranks_ == 1) return {};
    if (!last) {
      stream_.to = next(1);
      stream_.sends.push_back({first ? send_ : receive_, bytes_});
    }
    if (first) {
      stream_.ready = bytes_;
    } else {
      stream_.from = next(-1);
      stream_.receives.push_back({receive_, bytes_});
    }
    return run_stream(links_, stream_);
  }

  /// The chain of broadcast() backwards to the root; ranks in between hold a few pieces at a time.
  Status reduce() {
    if (ranks_ == 1) return alone();
    const bool first = next(1) == call_.root, last = rank_ == call_.root;
    stream_.to = last ? -1 : next(-1);
    stream_.from = first ? -1 : next(1);
    std::byte* between =
        first || last ? nullptr : workspace_.at_least(chain_pieces * tcp_piece_bytes);
    const std::vector<Part> pieces = pieces_of(0, bytes_);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const Part& part = pieces[i];
      std::byte* slot = between == nullptr ? nullptr : between + i % chain_pieces * tcp_piece_bytes;
      const std::byte* own = send_ + part.offset;
      if (!last) stream_.sends.push_back({first ? own : slot, part.bytes});
      if (first) continue;
      const std::size_t before = last || i < chain_pieces ? 0 : pieces[i - chain_pieces + 1].offset;
      stream_.receives.push_back(
          {last ? receive_ + part.offset : slot, part.bytes, own, before, last});
    }
    if (first) stream_.ready = bytes_;
    return run_stream(links_, stream_);
  }

  Status all_to_all() {
    for (int step = 0; step < ranks_; ++step) {
      const int to = next(step), from = next(-step);
      TRY(exchange(to, from, send_ + place(to), receive_ + place(from)));
    }
    return {};
  }

  Status gather() {
    std::vector<Message> sends, receives;
    if (rank_ != call_.root) {
      sends.push_back({call_.root, const_cast<std::byte*>(send_), bytes_});
    } else {
      copy_unless_same(receive_ + place(rank_), send_, bytes_);
      for (int step = 1; step < ranks_; ++step) {
        receives.push_back({next(step), receive_ + place(next(step)), bytes_});
      }
    }
    return transfer(links_, sends, receives);
  }

  Status scatter() {
    std::vector<Message> sends, receives;
    if (rank_ != call_.root) {
      receives.push_back({call_.root, receive_, bytes_});
    } else {
      copy_unless_same(receive_, send_ + place(rank_), bytes_);
      for (int step = 1; step < ranks_; ++step) {
        sends.push_back({next(step), const_cast<std::byte*>(send_) + place(next(step)), bytes_});
      }
    }
    return transfer(links_, sends, receives);
  }

  Status exchange(int to, int from, const std::byte* data, std::byte* into) {
    const Message send = {to, const_cast<std::byte*>(data), bytes_};
    const Message receive = {from, into, bytes_};
    return transfer(links_, {&send, 1}, {&receive, 1});
  }

  /// Finishes a reduction that has only one rank.
  Status alone() {
    copy_unless_same(receive_, send_, bytes_);
    return {};
  }

  TcpLinks& links_;
  TcpWorkspace& workspace_;
  const CollectiveCall& call_;
  const int ranks_, rank_;
  const std::size_t bytes_;  // size of a block, or of the whole vector
  const std::byte* send_;
  std::byte* receive_;
  TcpStream stream_;
};

}  // namespace

Status run_over_tcp(TcpLinks& links, TcpWorkspace& workspace, const CollectiveCall& call) {
  return TcpOperation(links, workspace, call).run();
}

}  // namespace assay
