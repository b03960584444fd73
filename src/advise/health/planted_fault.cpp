#include "advise/health/planted_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/suggest.h"

namespace assay::health {
namespace {

constexpr std::uint64_t most_planted_rank = 1 << 20;

/// "12" or "0xc".
std::optional<std::uint64_t> number_of(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<PlantedFault> parse_planted_fault(std::string_view text) {
  PlantedFault fault;
  fault.text = text;
  const Error wrong = {ErrorKind::usage,
                       fmt::format("fault \"{}\", allowed: WORK run=N launch=N buffer=N offset=N "
                                   "mask=N rank=N stays, where WORK is the beginning of a unit's "
                                   "name, N is a whole number, and a mask may be like 0x400",
                                   text)};
  bool named = false;  // whether what follows the name has begun
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty()) continue;
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view key = word.substr(0, equals),
                           number = word.substr(std::min(equals + 1, word.size()));
    const auto value = number_of(number);
    std::uint64_t* const target = key == "run"      ? &fault.run
                                  : key == "launch" ? &fault.launch
                                  : key == "buffer" ? &fault.buffer
                                  : key == "offset" ? &fault.offset
                                  : key == "mask"   ? &fault.mask
                                                    : nullptr;
    if (word == "stays") {
      fault.stays = named = true;
    } else if (target != nullptr && value) {
      *target = *value;
      named = true;
    } else if (key == "rank" && value && *value < most_planted_rank) {
      fault.rank = static_cast<int>(*value);
      named = true;
    } else if (target == nullptr && key != "rank" && !named) {
      fault.work += (fault.work.empty() ? "" : " ") + std::string(word);
    } else {
      return wrong;
    }
  }
  if (fault.run == 0 || fault.launch == 0 || fault.mask == 0) return wrong;
  return fault;
}

Status check_planted_fault(const PlantedFault& fault, std::span<const std::string> units,
                           int ranks) {
  if (fault.rank >= ranks) {
    return Error{ErrorKind::usage,
                 fmt::format("fault \"{}\": there is no rank {}; allowed: {}", fault.text,
                             fault.rank, ranks == 1 ? "0" : fmt::format("0 to {}", ranks - 1))};
  }
  if (std::ranges::any_of(units, [&](const auto& unit) { return unit.starts_with(fault.work); })) {
    return {};
  }
  return Error{
      ErrorKind::usage,
      fmt::format("fault \"{}\": no unit that is tested here begins with \"{}\"{}; the units "
                  "are: {}",
                  fault.text, fault.work, did_you_mean(fault.work, units), fmt::join(units, ", "))};
}

}  // namespace assay::health
