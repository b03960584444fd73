#include "results/import/aiperf_names.h"

#include <cmath>

#include "results/import/text_lines.h"

namespace assay {

MeasuredUnit aiperf_unit(std::string_view text) {
  constexpr std::string_view powers = "KMGT";
  const std::size_t power = text.empty() ? powers.npos : powers.find(text[0]);
  if (power != powers.npos && (text.substr(1) == "B" || text.substr(1) == "B/sec")) {
    return {text.ends_with("sec") ? "bytes/s" : "bytes",
            std::ldexp(1.0, 10 * static_cast<int>(power + 1))};
  }
  if (const auto known = measured_unit(text)) return *known;
  if (contains(text, "token") && contains(text, "/s")) return {"tokens/s", 1};
  if (contains(text, "/s")) return {"1/s", 1};
  return {"1", 1};
}

Better aiperf_better(std::string_view name, const MeasuredUnit& unit) {
  if (contains(name, "timestamp")) return Better::neither;
  if (unit.si == "s") return Better::lower;
  if (unit.si == "bytes" || unit.si == "W" || unit.si == "Hz") return Better::neither;
  const bool rate = contains(name, "throughput") || contains(name, "goodput");
  return rate || unit.si != "1" ? Better::higher : Better::neither;
}

std::string aiperf_name(std::string_view tag) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> renamed = {
      {{"time_to_first_token", "ttft"},
       {"inter_token_latency", "itl"},
       {"request_latency", "e2el"},
       {"time_to_second_token", "ttst"}}};
  for (const auto& [from, to] : renamed) {
    if (from == tag) return std::string(to);
  }
  return identifier(tag);
}

}  // namespace assay
