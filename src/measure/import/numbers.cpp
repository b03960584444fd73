#include "measure/import/numbers.h"

#include <charconv>
#include <cmath>

#include "measure/import/text_lines.h"

namespace assay {
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
