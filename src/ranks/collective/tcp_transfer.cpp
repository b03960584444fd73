#include "ranks/collective/tcp_transfer.h"

#include <algorithm>
#include <cstring>
#include <deque>

namespace assay {
namespace {

/// The remaining messages to or from one peer, in order.
struct Queue {
  int peer = 0;
  std::deque<std::pair<std::byte*, std::size_t>> pieces;
};

std::vector<Queue> by_peer(std::span<const Message> messages, int ranks) {
  std::vector<Queue> queues(static_cast<std::size_t>(ranks));
  for (const Message& message : messages) {
    if (message.bytes == 0) continue;
    queues[static_cast<std::size_t>(message.peer)].pieces.emplace_back(
        static_cast<std::byte*>(message.data), message.bytes);
  }
  for (int rank = 0; rank < ranks; ++rank) queues[static_cast<std::size_t>(rank)].peer = rank;
  return queues;
}

Status to_itself(const Queue& sends, const Queue& receives) {
  const bool fits = std::equal(sends.pieces.begin(), sends.pieces.end(), receives.pieces.begin(),
                               receives.pieces.end(),
                               [](const auto& a, const auto& b) { return a.second == b.second; });
  if (!fits) {
    return Error{ErrorKind::failed,
                 "TCP: the messages that a rank sends to itself and receives differ in size"};
  }
  for (std::size_t i = 0; i < sends.pieces.size(); ++i) {
    std::memmove(receives.pieces[i].first, sends.pieces[i].first, sends.pieces[i].second);
  }
  return {};
}

/// Moves as many bytes as possible without waiting; `some` is send_some or receive_some.
template <typename Some>
Status advance(Queue& queue, Some some) {
  while (!queue.pieces.empty()) {
    auto& [data, bytes] = queue.pieces.front();
    const std::size_t moved = TRY(some(queue.peer, data, bytes));
    if (moved == 0) return {};
    data += moved;
    bytes -= moved;
    if (bytes == 0) queue.pieces.pop_front();
  }
  return {};
}

void drop_done(std::vector<Queue>& queues) {
  std::erase_if(queues, [](const Queue& queue) { return queue.pieces.empty(); });
}

}  // namespace

Status transfer(TcpLinks& links, std::span<const Message> sends,
                std::span<const Message> receives) {
  std::vector<Queue> going = by_peer(sends, links.size());
  std::vector<Queue> coming = by_peer(receives, links.size());
  const auto self = static_cast<std::size_t>(links.rank());
  TRY(to_itself(going[self], coming[self]));
  going[self].pieces.clear();
  coming[self].pieces.clear();
  std::vector<pollfd> interests;
  for (;;) {
    for (Queue& queue : going) {
      TRY(advance(queue, [&](auto... arguments) { return links.send_some(arguments...); }));
    }
    for (Queue& queue : coming) {
      TRY(advance(queue, [&](auto... arguments) { return links.receive_some(arguments...); }));
    }
    drop_done(going);
    drop_done(coming);
    if (going.empty() && coming.empty()) return {};
    interests.clear();
    for (const Queue& queue : going) interests.push_back(links.interest(queue.peer, POLLOUT));
    for (const Queue& queue : coming) interests.push_back(links.interest(queue.peer, POLLIN));
    TRY(links.wait(interests));
  }
}

}  // namespace assay
