// The ranks that this process starts itself: on its own machine, and on other machines over ssh.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay {

/// A machine and its number of ranks.
struct HostSlots {
  std::string host;
  int ranks = 1;
};

/// Parses "node1:8,node2:8"; a host without a number gets one rank. Error: usage.
Result<std::vector<HostSlots>> parse_hosts(const std::string& text);

/// What started ranks need to know.
struct RankStart {
  std::vector<std::string> arguments;  ///< assay's command-line arguments, the same on every rank
  int size = 1;                        ///< ranks of the team
  std::string address;                 ///< "HOST:PORT,..." of rank 0, to try one after the other
  std::string token;
  double answer_seconds = 60;  ///< within which another machine must answer at all
};

class StartedRanks {
 public:
  StartedRanks();
  StartedRanks(StartedRanks&&) noexcept;
  StartedRanks& operator=(StartedRanks&&) noexcept;
  /// Waits up to ten seconds for the ranks to end by themselves, then kills them.
  ~StartedRanks();

  /// Starts ranks `first` to `first + count - 1` on this machine, with local ranks from
  /// `first_local`. A rank that cannot start is among failures(). Error: as own_binary()
  /// (core/own_binary.h).
  Status start_here(const RankStart& start, int first, int count, int first_local);
  /// Starts the ranks of `slots`, from `first` on, on another machine; copies the binary there
  /// once. Error: unavailable, naming the host and quoting ssh; usage for a host that is an option;
  /// as own_binary().
  Status start_there(const RankStart& start, int first, const HostSlots& slots);
  /// Returns how started ranks failed: "rank 2 was ended by signal 9".
  std::vector<std::string> failures() const;
  bool all_ended() const;

 private:
  struct Running;
  std::vector<std::unique_ptr<Running>> running_;
};

}  // namespace assay
