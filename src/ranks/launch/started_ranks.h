// The ranks that this process starts itself: on its own machine, and on others over ssh.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace assay {

/// A machine and how many ranks it gets.
struct HostSlots {
  std::string host;
  int ranks = 1;
};

/// "node1:8,node2:8"; without a number one rank. Error: usage.
Result<std::vector<HostSlots>> parse_hosts(const std::string& text);

/// What started ranks are told.
struct RankStart {
  std::vector<std::string> arguments;  ///< assay's own, the same on every rank
  int size = 1;                        ///< ranks of the team
  std::string address;  ///< of rank 0, HOST:PORT; without HOST: for this machine alone
  std::string token;
};

class StartedRanks {
 public:
  StartedRanks();
  StartedRanks(StartedRanks&&) noexcept;
  StartedRanks& operator=(StartedRanks&&) noexcept;
  /// Waits for the ranks, ten seconds for those that end by themselves, then ends them.
  ~StartedRanks();

  /// Ranks `first` to `first + count - 1` on this machine, local ranks from `first_local` on.
  Status start_here(const RankStart& start, int first, int count, int first_local);
  /// The ranks of `slots`, from `first` on, on another machine, where the binary is copied once.
  /// Error: unavailable, naming the host and what ssh says.
  Status start_there(const RankStart& start, int first, const HostSlots& slots);
  /// How started ranks ended that did not end well: "rank 2 was ended by signal 9".
  std::vector<std::string> failures() const;
  bool all_ended() const;

 private:
  struct Running;
  std::vector<std::unique_ptr<Running>> running_;
};

}  // namespace assay
