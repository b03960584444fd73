#include "core/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace assay {
namespace {

struct SizeUnit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array<SizeUnit, 5> size_units = {
    {{"TiB", 1ull << 40}, {"GiB", 1ull << 30}, {"MiB", 1ull << 20}, {"KiB", 1ull << 10}, {"B", 1}}};

struct Number {
  std::uint64_t value = 0;
  std::string_view suffix;
  bool valid = false;
};

Number leading_integer(std::string_view text) {
  Number number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  number.valid = error == std::errc{};
  number.suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  return number;
}

Error bad_size(std::string_view text) {
  return {ErrorKind::usage,
          fmt::format("bad size \"{}\": give whole bytes or KiB, MiB, GiB, TiB, e.g. 64MiB", text)};
}

Error bad_duration(std::string_view text) {
  return {ErrorKind::usage,
          fmt::format("bad duration \"{}\": give a number above 0 with ms, s, min or h, e.g. 90s, "
                      "and at most 24000h",
                      text)};
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  const Number number = leading_integer(text);
  if (!number.valid) return bad_size(text);
  if (number.suffix.empty()) return number.value;
  for (const SizeUnit& unit : size_units) {
    if (number.suffix != unit.name) continue;
    if (number.value > UINT64_MAX / unit.bytes) return bad_size(text);
    return number.value * unit.bytes;
  }
  return bad_size(text);
}

Result<std::uint64_t> parse_integer(std::string_view text) {
  const Number number = leading_integer(text);
  if (!number.valid || !number.suffix.empty()) {
    return Error{ErrorKind::usage,
                 fmt::format("bad number \"{}\": give a whole number, e.g. 4096", text)};
  }
  return number.value;
}

Result<double> parse_duration(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> units = {
      {{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}}};
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || !(value > 0)) return bad_duration(text);
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const auto& [name, seconds] : units) {
    // Clocks count nanoseconds in 64 bits, and what adds a few durations must not exceed them.
    constexpr double most = 24'000 * 3600.0;
    if (suffix == name && value * seconds <= most) return value * seconds;
  }
  return bad_duration(text);
}

std::string format_size(std::uint64_t bytes) {
  if (bytes == 0) return "0";
  for (const SizeUnit& unit : size_units) {
    if (unit.bytes > 1 && bytes % unit.bytes == 0) {
      return fmt::format("{}{}", bytes / unit.bytes, unit.name);
    }
  }
  return fmt::format("{}", bytes);
}

std::string format_memory(std::uint64_t bytes) {
  for (const SizeUnit& unit : size_units) {
    if (bytes < unit.bytes || unit.bytes == 1) continue;
    const double value = static_cast<double>(bytes) / static_cast<double>(unit.bytes);
    return fmt::format("{:.{}f} {}", value, value == std::floor(value) ? 0 : 1, unit.name);
  }
  return fmt::format("{} B", bytes);
}

Scale scale_for(double value) {
  constexpr std::array<Scale, 9> scales = {{{1e15, "P"},
                                            {1e12, "T"},
                                            {1e9, "G"},
                                            {1e6, "M"},
                                            {1e3, "k"},
                                            {1, ""},
                                            {1e-3, "m"},
                                            {1e-6, "u"},
                                            {1e-9, "n"}}};
  const double magnitude = std::abs(value);
  if (!(magnitude > 0) || !std::isfinite(magnitude)) return {};
  for (const Scale& scale : scales) {
    // 0.99995: a value that would round to 1000 with one prefix gets the next one and shows 1.000.
    if (magnitude >= scale.factor * 0.99995) return scale;
  }
  return scales.back();
}

std::string format_share(double share) {
  return share > 0 && share < 0.005 ? "<1%" : fmt::format("{:.0f}%", 100 * share);
}

std::string format_percent(double difference) {
  const double percent = 100 * difference;
  return std::abs(percent) < 99.5 ? fmt::format("{:.2g}%", percent)
                                  : fmt::format("{:.0f}%", percent);
}

std::string format_significant(double value) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (value == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value) * 1.00005)));
  return fmt::format("{:.{}f}", value, std::max(0, 3 - magnitude));
}

std::string format_rate(double value, std::string_view unit) {
  const Scale scale = scale_for(value);
  return fmt::format("{} {}{}", format_significant(value / scale.factor), scale.prefix, unit);
}

std::string format_seconds(double seconds) {
  const Scale scale = std::abs(seconds) >= 1 ? Scale{} : scale_for(seconds);
  return fmt::format("{} {}s", format_significant(seconds / scale.factor), scale.prefix);
}

std::string format_in(double value, std::string_view unit) {
  if (unit == "s") return format_seconds(value);
  // Shares take no prefix: nobody writes milli-shares.
  if (unit == "1") return format_significant(value);
  if (unit == "$") return "$" + format_significant(value);
  if (unit == "bytes" && value >= 0 && value < 0x1p64) {
    return format_memory(static_cast<std::uint64_t>(value));
  }
  return format_rate(value, unit == "bytes/s" ? "B/s" : unit);
}

std::string format_clock(double seconds) {
  const auto total = static_cast<long long>(std::max(0.0, std::ceil(seconds)));
  if (total >= 3600) {
    return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
  }
  return fmt::format("{}:{:02}", total / 60, total % 60);
}

std::string format_frequency(double hertz) {
  return format_rate(hertz, "Hz");
}

}  // namespace assay
