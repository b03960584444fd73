// The callers of a listening socket that have not yet shown that they are of this run. All of them
// are heard at once, so nobody waits for one that is silent, and they take bounded memory and time,
// however many they are.
#pragma once

#include <poll.h>

#include <chrono>
#include <list>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "ranks/team/greeting.h"

namespace assay {

class Reception {
 public:
  /// A caller that knows the secret: its request waits to be accepted or refused.
  struct Caller {
    Descriptor socket;
    Greeting greeting;
  };

  /// `listener` must outlive it.
  Reception(const Descriptor& listener, std::string secret)
      : listener_(listener), secret_(std::move(secret)) {}

  /// Adds the events for which to poll before the next greet().
  void add_interests(std::vector<pollfd>& files) const;
  /// Goes on with all callers without waiting, and sends those away that are of another run, say
  /// something else or are silent for too long. Call it when poll() says so, and at least ten times
  /// a second. Returns those whose request has now arrived.
  std::vector<Caller> greet();

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Caller caller;
    Clock::time_point since;
  };

  bool has_room() const;
  void admit();

  const Descriptor& listener_;
  const std::string secret_;
  std::list<Waiting> waiting_;  // the oldest first
};

}  // namespace assay
