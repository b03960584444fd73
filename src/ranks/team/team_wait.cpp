#include "ranks/team/team_wait.h"

#include <chrono>
#include <thread>

namespace assay {

Status wait_idle(Stream& stream, Event& idle, Team& team) {
  if (team.size() == 1) return stream.synchronize();
  constexpr std::chrono::milliseconds interval{10};
  TRY(stream.record(idle));
  auto asked = std::chrono::steady_clock::now();
  // On a CPU a thread that polled would take the core of the one that computes.
  while (!TRY(idle.done_within(interval))) {
    if (std::chrono::steady_clock::now() - asked >= interval) {
      TRY(team.check_alive());
      asked = std::chrono::steady_clock::now();
    }
    std::this_thread::yield();
  }
  return stream.synchronize();
}

}  // namespace assay
