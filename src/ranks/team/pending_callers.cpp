#include "ranks/team/pending_callers.h"

#include "core/tcp.h"

namespace assay {
namespace {

constexpr std::size_t most_waiting = 256;         // each is a socket and at most 2 KiB
constexpr int most_admitted = 64;                 // before those who wait are heard again
constexpr std::chrono::seconds longest_wait{10};  // a rank answers at once unless its host is busy
// In a flood the oldest makes room for the next, but not before a rank could have answered. The
// others wait in the kernel's queue.
constexpr std::chrono::milliseconds least_wait{250};

}  // namespace

bool Reception::has_room() const {
  return waiting_.size() < most_waiting || Clock::now() - waiting_.front().since > least_wait;
}

void Reception::admit() {
  for (int i = 0; i < most_admitted && has_room(); ++i) {
    Descriptor socket = accept_tcp(listener_);
    if (!socket.is_open()) return;
    if (waiting_.size() >= most_waiting) waiting_.pop_front();
    waiting_.push_back({{std::move(socket), Greeting::called(secret_)}, Clock::now()});
  }
}

void Reception::add_interests(std::vector<pollfd>& files) const {
  if (has_room()) files.push_back({listener_.number(), POLLIN, 0});
  for (const Waiting& waiting : waiting_) {
    files.push_back({waiting.caller.socket.number(), waiting.caller.greeting.awaits(), 0});
  }
}

std::vector<Reception::Caller> Reception::greet() {
  std::vector<Caller> known;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto heard = at->caller.greeting.advance(at->caller.socket);
    if (heard.ok() && *heard) known.push_back(std::move(at->caller));
    const bool stays = heard.ok() && !*heard && Clock::now() - at->since < longest_wait;
    at = stays ? std::next(at) : waiting_.erase(at);
  }
  admit();
  return known;
}

}  // namespace assay
