// Decides which of several servers gets the next request.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/random.h"
#include "core/result.h"

namespace assay {

enum class Balance {
  least,   ///< the one with the fewest requests in flight; ties in turn
  turns,   ///< round-robin
  random,  ///< all equally likely
};

/// Returns the value of --balance: "least-connections", "round-robin" or "random".
std::string_view name_of(Balance balance);
/// Parses such a value. Error: usage, with those that are allowed.
Result<Balance> parse_balance(std::string_view name);

class Balancer {
 public:
  /// `targets` > 0.
  Balancer(Balance balance, std::size_t targets, std::uint64_t seed);
  /// Returns the target for the next request, from 0, which counts as in flight until done().
  std::size_t choose();
  void done(std::size_t target) { --in_flight_[target]; }

 private:
  std::size_t fewest();

  Balance balance_;
  std::vector<std::size_t> in_flight_;
  std::size_t turn_ = 0;
  Random random_;
};

}  // namespace assay
