#include "serving/client/balancer.h"

#include <fmt/format.h>

#include <array>

namespace assay {
namespace {

constexpr std::array<std::string_view, 3> balance_names = {"least-connections", "round-robin",
                                                           "random"};

}  // namespace

std::string_view name_of(Balance balance) {
  return balance_names[static_cast<std::size_t>(balance)];
}

Result<Balance> parse_balance(std::string_view name) {
  for (std::size_t i = 0; i < balance_names.size(); ++i) {
    if (balance_names[i] == name) return static_cast<Balance>(i);
  }
  return Error{ErrorKind::usage, fmt::format("unknown balance \"{}\"; allowed: {}", name,
                                             fmt::join(balance_names, ", "))};
}

Balancer::Balancer(Balance balance, std::size_t targets, std::uint64_t seed)
    : balance_(balance), in_flight_(targets), random_(seed) {}

std::size_t Balancer::choose() {
  std::size_t target = turn_;
  if (balance_ == Balance::random) {
    target = static_cast<std::size_t>(random_.uniform() * static_cast<double>(in_flight_.size()));
  } else if (balance_ == Balance::least) {
    target = fewest();
  }
  turn_ = (target + 1) % in_flight_.size();
  ++in_flight_[target];
  return target;
}

std::size_t Balancer::fewest() {
  std::size_t best = turn_;
  for (std::size_t i = 1; i < in_flight_.size(); ++i) {
    const std::size_t candidate = (turn_ + i) % in_flight_.size();
    if (in_flight_[candidate] < in_flight_[best]) best = candidate;
  }
  return best;
}

}  // namespace assay
