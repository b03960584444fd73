#include "import/numbers.h"

#include <array>
#include <charconv>
#include <cmath>

#include "import/text_lines.h"

namespace assay {
namespace {

struct Prefix {
  std::string_view name;
  double factor;
};
constexpr std::array<Prefix, 10> prefixes = {{{"Ki", 1024.0},
                                              {"Mi", 1048576.0},
                                              {"Gi", 1073741824.0},
                                              {"Ti", 1099511627776.0},
                                              {"K", 1e3},
                                              {"k", 1e3},
                                              {"M", 1e6},
                                              {"G", 1e9},
                                              {"T", 1e12},
                                              {"P", 1e15}}};

struct Stem {
  std::string_view name;
  double factor;
  std::string_view unit;
};
/// What may follow a prefix.
constexpr std::array<Stem, 17> stems = {{{"B/s", 1, "bytes/s"},
                                         {"B/sec", 1, "bytes/s"},
                                         {"Bytes/s", 1, "bytes/s"},
                                         {"Bytes/sec", 1, "bytes/s"},
                                         {"bytes/s", 1, "bytes/s"},
                                         {"bytes/sec", 1, "bytes/s"},
                                         {"Bps", 1, "bytes/s"},
                                         {"b/s", 0.125, "bytes/s"},
                                         {"b/sec", 0.125, "bytes/s"},
                                         {"bit/s", 0.125, "bytes/s"},
                                         {"bps", 0.125, "bytes/s"},
                                         {"FLOPS", 1, "FLOP/s"},
                                         {"FLOP/s", 1, "FLOP/s"},
                                         {"flops", 1, "FLOP/s"},
                                         {"B", 1, "bytes"},
                                         {"Bytes", 1, "bytes"},
                                         {"bytes", 1, "bytes"}}};
constexpr std::array<Stem, 12> times = {{{"s", 1, "s"},
                                         {"sec", 1, "s"},
                                         {"secs", 1, "s"},
                                         {"seconds", 1, "s"},
                                         {"ms", 1e-3, "s"},
                                         {"msec", 1e-3, "s"},
                                         {"milliseconds", 1e-3, "s"},
                                         {"us", 1e-6, "s"},
                                         {"usec", 1e-6, "s"},
                                         {"microseconds", 1e-6, "s"},
                                         {"ns", 1e-9, "s"},
                                         {"nanoseconds", 1e-9, "s"}}};

template <std::size_t size>
std::optional<UnitScale> find_stem(const std::array<Stem, size>& table, std::string_view text) {
  for (const Stem& stem : table) {
    if (stem.name == text) return UnitScale{stem.factor, stem.unit};
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<UnitScale> parse_unit(std::string_view text) {
  if (const auto time = find_stem(times, text)) return time;
  if (const auto plain = find_stem(stems, text)) return plain;
  for (const Prefix& prefix : prefixes) {
    if (!text.starts_with(prefix.name)) continue;
    if (auto scaled = find_stem(stems, text.substr(prefix.name.size()))) {
      scaled->factor *= prefix.factor;
      return scaled;
    }
  }
  return std::nullopt;
}

double to_si(double value, double factor) {
  return factor > 0 && factor < 1 ? value / std::round(1 / factor) : value * factor;
}

std::optional<std::uint64_t> parse_binary_size(std::string_view text) {
  text = trim(text);
  const std::size_t digits = text.find_first_not_of("0123456789");
  const auto value = parse_count(text.substr(0, digits));
  if (!value || digits == std::string_view::npos) return value;
  const std::string suffix = lower_case(trim(text.substr(digits)));
  int shift = 0;
  if (suffix == "k" || suffix == "kb" || suffix == "kib") {
    shift = 10;
  } else if (suffix == "m" || suffix == "mb" || suffix == "mib") {
    shift = 20;
  } else if (suffix == "g" || suffix == "gb" || suffix == "gib") {
    shift = 30;
  } else if (suffix != "b" && suffix != "bytes") {
    return std::nullopt;
  }
  if (*value > (UINT64_MAX >> shift)) return std::nullopt;
  return *value << shift;
}

}  // namespace assay
