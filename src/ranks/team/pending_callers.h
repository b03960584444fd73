// The callers of a listening socket that have not yet proven that they belong to this run. All of
// them are served at once, so a silent one delays nobody, and any number of them takes bounded
// memory and time.
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
  /// A caller that knows the secret; its request waits to be accepted or refused.
  struct Caller {
    Descriptor socket;
    Greeting greeting;
  };

  /// `listener` must outlive this object.
  Reception(const Descriptor& listener, std::string secret)
      : listener_(listener), secret_(std::move(secret)) {}

  /// Adds the events to poll for before the next greet().
  void add_interests(std::vector<pollfd>& files) const;
  /// Continues the greetings of all callers without waiting. Rejects callers that belong to another
  /// run, break the protocol or are silent for too long, and in a flood the oldest ones. Call it
  /// when poll() reports an event, and at least ten times a second. Returns the callers whose
  /// request has now arrived.
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
