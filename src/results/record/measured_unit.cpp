#include "results/record/measured_unit.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace assay {
namespace {

struct Base {
  std::string_view text, si;
  double factor;
};

/// Units that take a prefix.
constexpr std::array<Base, 22> scaled = {{
    {"B/s", "bytes/s", 1},
    {"B/sec", "bytes/s", 1},
    {"Bps", "bytes/s", 1},
    {"bytes/s", "bytes/s", 1},
    {"bytes/sec", "bytes/s", 1},
    {"Bytes/s", "bytes/s", 1},
    {"Bytes/sec", "bytes/s", 1},
    {"b/s", "bytes/s", 0.125},
    {"b/sec", "bytes/s", 0.125},
    {"bit/s", "bytes/s", 0.125},
    {"bits/s", "bytes/s", 0.125},
    {"bps", "bytes/s", 0.125},
    {"FLOP/s", "FLOP/s", 1},
    {"FLOPS", "FLOP/s", 1},
    {"FLOPs", "FLOP/s", 1},
    {"flops", "FLOP/s", 1},
    {"B", "bytes", 1},
    {"bytes", "bytes", 1},
    {"Bytes", "bytes", 1},
    {"Hz", "Hz", 1},
    {"W", "W", 1},
    {"1/s", "1/s", 1},
}};

constexpr std::array<Base, 25> known_units = {{
    {"s", "s", 1},
    {"sec", "s", 1},
    {"secs", "s", 1},
    {"seconds", "s", 1},
    {"ms", "s", 1e-3},
    {"msec", "s", 1e-3},
    {"milliseconds", "s", 1e-3},
    {"us", "s", 1e-6},
    {"usec", "s", 1e-6},
    {"microseconds", "s", 1e-6},
    {"\xc2\xb5s", "s", 1e-6},
    {"ns", "s", 1e-9},
    {"nanoseconds", "s", 1e-9},
    {"min", "s", 60},
    {"h", "s", 3600},
    {"1", "1", 1},
    {"%", "1", 0.01},
    {"tokens/s", "tokens/s", 1},
    {"tok/s", "tokens/s", 1},
    {"samples/s", "1/s", 1},
    {"req/s", "1/s", 1},
    {"requests/s", "1/s", 1},
    {"requests/sec", "1/s", 1},
    {"it/s", "1/s", 1},
    {"steps/s", "1/s", 1},
}};

constexpr std::array<std::pair<std::string_view, double>, 13> unit_prefixes = {{
    {"", 1},
    {"Ki", 0x1p10},
    {"Mi", 0x1p20},
    {"Gi", 0x1p30},
    {"Ti", 0x1p40},
    {"Pi", 0x1p50},
    {"k", 1e3},
    {"K", 1e3},
    {"M", 1e6},
    {"G", 1e9},
    {"T", 1e12},
    {"P", 1e15},
    {"m", 1e-3},
}};

}  // namespace

double to_si(double value, double factor) {
  return factor > 0 && factor < 1 ? value / std::round(1 / factor) : value * factor;
}

std::optional<MeasuredUnit> measured_unit(std::string_view text) {
  for (const Base& base : known_units) {
    if (text == base.text) return MeasuredUnit{base.si, base.factor};
  }
  for (const Base& base : scaled) {
    if (!text.ends_with(base.text)) continue;
    const std::string_view prefix = text.substr(0, text.size() - base.text.size());
    for (const auto& [name, factor] : unit_prefixes) {
      if (prefix == name) return MeasuredUnit{base.si, base.factor * factor};
    }
  }
  return std::nullopt;
}

Result<MeasuredUnit> written_unit(std::string_view text) {
  for (const std::string_view whole : {"GPUs", "lanes", "GT/s", "samples/s"}) {
    if (text == whole) return MeasuredUnit{whole, 1};
  }
  if (const auto unit = measured_unit(text)) return *unit;
  return Error{
      ErrorKind::usage,
      fmt::format("unknown unit \"{}\"; allowed: bytes/s, GB/s, Gb/s, TFLOP/s, tokens/s, "
                  "samples/s, 1/s, s, ms, us, GB, GiB, W, GPUs, lanes, GT/s, 1 and the like",
                  text)};
}

}  // namespace assay
