#include "results/record/cell_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/units.h"

namespace assay {

std::optional<double> axis_number(std::string_view text) {
  if (const auto size = parse_size(text); size.ok()) return static_cast<double>(*size);
  const std::size_t times = text.find('x');
  if (times != std::string_view::npos) {
    const std::string_view edge = text.substr(0, times);
    const bool cube =
        text == fmt::format("{0}x{0}x{0}", edge) || text == fmt::format("{0}x{0}", edge);
    return cube ? axis_number(edge) : std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

namespace {

/// The parameters that a model's name says: "1.5B" 1.5e9, "30M" 3e7. Empty for other names.
std::optional<double> parameters_of(std::string_view model) {
  constexpr std::string_view letters = "KMBT";
  double value = 0;
  const auto [end, error] = std::from_chars(model.data(), model.data() + model.size(), value);
  if (error != std::errc{} || end + 1 != model.data() + model.size()) return std::nullopt;
  const std::size_t letter = letters.find(*end);
  if (letter == std::string_view::npos) return std::nullopt;
  return value * std::pow(1000.0, static_cast<double>(letter + 1));
}

}  // namespace

std::optional<double> place_on_axis(std::string_view axis, std::string_view value) {
  return axis == "model" ? parameters_of(value) : axis_number(value);
}

bool comes_before(const CellAxes& a, const CellAxes& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].first != b[i].first) return a[i].first < b[i].first;
    if (a[i].second == b[i].second) continue;
    const auto x = place_on_axis(a[i].first, a[i].second);
    const auto y = place_on_axis(b[i].first, b[i].second);
    if (x && y && *x != *y) return *x < *y;
    if (x.has_value() != y.has_value()) return x.has_value();
    return a[i].second < b[i].second;
  }
  return a.size() < b.size();
}

}  // namespace assay
