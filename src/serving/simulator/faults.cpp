#include "serving/simulator/faults.h"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <vector>

#include "core/random.h"

namespace assay::simulator {
namespace {

constexpr std::array<std::string_view, fault_count> fault_names = {
    "none",  "reset",  "http500", "http429", "hang",  "utf8",  "merged",
    "split", "nodone", "nousage", "long",    "empty", "short", "slowclose"};

Result<std::size_t> index_of(std::string_view name) {
  std::string allowed;
  for (std::size_t i = 1; i < fault_names.size(); ++i) {
    if (fault_names[i] == name) return i;
    allowed += fmt::format("{}{}", i == 1 ? "" : ", ", fault_names[i]);
  }
  return Error{ErrorKind::usage, fmt::format("unknown fault \"{}\"; allowed: {}", name, allowed)};
}

Result<double> parse_share(std::string_view text) {
  double share = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, share, std::chars_format::fixed);
  if (read.ec == std::errc{} && read.ptr == end && share > 0 && share <= 1) return share;
  return Error{
      ErrorKind::usage,
      fmt::format("bad share \"{}\" of a fault: give a number above 0, at most 1, e.g. 0.01",
                  text)};
}

}  // namespace

std::string_view name_of(Fault fault) {
  return fault_names[static_cast<std::size_t>(fault)];
}

bool only_streamed(Fault fault) {
  switch (fault) {
    case Fault::utf8:
    case Fault::merged:
    case Fault::split:
    case Fault::nodone:
      return true;
    default:
      return false;
  }
}

Result<FaultPlan> FaultPlan::parse(std::string_view text) {
  FaultPlan plan;
  std::vector<std::size_t> without_share;
  double left = 1;
  while (true) {
    const std::string_view word = text.substr(0, text.find(','));
    const std::size_t equals = word.find('=');
    const std::size_t fault = TRY(index_of(word.substr(0, equals)));
    if (equals == std::string_view::npos) {
      without_share.push_back(fault);
    } else {
      const double share = TRY(parse_share(word.substr(equals + 1)));
      plan.shares_[fault] += share;
      left -= share;
    }
    if (word.size() == text.size()) break;
    text.remove_prefix(word.size() + 1);
  }
  if (left < -1e-9) {
    return Error{ErrorKind::usage, "the shares of all faults together are more than 1"};
  }
  for (const std::size_t fault : without_share) {
    plan.shares_[fault] += left / static_cast<double>(without_share.size());
  }
  return plan;
}

Fault FaultPlan::of(std::uint64_t number, std::uint64_t seed) const {
  double at = Random(Random(seed).next() ^ number).uniform();
  for (std::size_t fault = 1; fault < fault_count; ++fault) {
    at -= shares_[fault];
    if (at < 0) return static_cast<Fault>(fault);
  }
  return Fault::none;
}

}  // namespace assay::simulator
