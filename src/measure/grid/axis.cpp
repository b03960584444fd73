#include "measure/grid/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "core/suggest.h"
#include "core/units.h"

namespace assay {
namespace {

constexpr std::size_t most_values = 10000;  // limit per axis; more is probably a typo
constexpr std::size_t most_cells = 100000;

using Values = std::vector<std::string>;

Error bad_value(const Axis& axis, std::string_view text, std::string_view why = "") {
  return {ErrorKind::usage,
          fmt::format("axis {}: \"{}\" {}; allowed: {}", axis.name, text,
                      why.empty() ? "is not allowed" : why, allowed_values(axis))};
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = text.find(separator); at != std::string_view::npos;
       at = text.find(separator)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

Result<std::uint64_t> parse_number(const Axis& axis, std::string_view text) {
  const auto number = axis.kind == Axis::Kind::size ? parse_size(text) : parse_integer(text);
  if (!number.ok()) return bad_value(axis, text);
  if (*number < axis.least || *number > axis.most) return bad_value(axis, text, "is out of range");
  return *number;
}

std::string canonical(const Axis& axis, std::uint64_t number) {
  switch (axis.kind) {
    case Axis::Kind::size:
      return format_size(number);
    case Axis::Kind::shape:
      return fmt::format("{0}x{0}x{0}", number);
    default:
      return fmt::format("{}", number);
  }
}

/// Expands a sweep, "1MiB..8GiB*2": from the first value, multiplying by (or adding) the step, up
/// to the last.
Result<Values> expand_sweep(const Axis& axis, std::string_view text) {
  const std::size_t dots = text.find("..");
  const std::size_t sign = text.find_first_of("*+", dots);
  if (sign == std::string_view::npos) {
    return bad_value(axis, text, "is a sweep without a step such as *2 or +1");
  }
  const std::uint64_t first = TRY(parse_number(axis, text.substr(0, dots)));
  const std::uint64_t last = TRY(parse_number(axis, text.substr(dots + 2, sign - dots - 2)));
  const bool multiply = text[sign] == '*';
  const std::string_view step_text = text.substr(sign + 1);
  const auto step =
      axis.kind == Axis::Kind::size && !multiply ? parse_size(step_text) : parse_integer(step_text);
  if (!step.ok() || *step < (multiply ? 2 : 1)) {
    return bad_value(axis, text, "has a bad step (at least *2 or +1)");
  }
  if (last < first) return bad_value(axis, text, "ends before it begins");
  if (multiply && first == 0) return bad_value(axis, text, "multiplies zero");
  Values values;
  for (std::uint64_t value = first;;) {
    values.push_back(canonical(axis, value));
    if (values.size() > most_values) {
      return bad_value(axis, text, fmt::format("has more than {} values", most_values));
    }
    const std::uint64_t room = multiply ? last / *step : last - value;
    if (multiply ? value > room : *step > room) return values;
    value = multiply ? value * *step : value + *step;
  }
}

Result<std::string> parse_shape(const Axis& axis, std::string_view text) {
  const auto parts = split(text, "x");
  if (parts.size() != 3) return bad_value(axis, text);
  std::array<std::uint64_t, 3> extent = {};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto number = parse_integer(parts[i]);
    if (!number.ok()) return bad_value(axis, text);
    if (*number < axis.least || *number > axis.most) {
      return bad_value(axis, text, "is out of range");
    }
    extent[i] = *number;
  }
  return fmt::format("{}x{}x{}", extent[0], extent[1], extent[2]);
}

Result<Values> expand_item(const Axis& axis, std::string_view item) {
  if (axis.kind == Axis::Kind::choice) {
    if (item == "all") return axis.choices;
    if (std::find(axis.choices.begin(), axis.choices.end(), item) != axis.choices.end()) {
      return Values{std::string(item)};
    }
    return bad_value(axis, item, fmt::format("is not allowed{}", did_you_mean(item, axis.choices)));
  }
  if (axis.kind == Axis::Kind::member && item == "all") return Values{"all"};
  if (std::find(axis.choices.begin(), axis.choices.end(), item) != axis.choices.end()) {
    return Values{std::string(item)};
  }
  if (axis.kind == Axis::Kind::text) {
    const Status checked = axis.check(item);
    if (checked.ok()) return Values{std::string(item)};
    return Error{ErrorKind::usage, fmt::format("axis {}: {}", axis.name, checked.error().message)};
  }
  if (item.find("..") != std::string_view::npos) return expand_sweep(axis, item);
  if (axis.kind == Axis::Kind::shape && item.find('x') != std::string_view::npos) {
    return Values{TRY(parse_shape(axis, item))};
  }
  return Values{canonical(axis, TRY(parse_number(axis, item)))};
}

std::string range_text(const Axis& axis) {
  const bool size = axis.kind == Axis::Kind::size;
  const auto show = [&](std::uint64_t number) {
    return size ? format_size(number) : fmt::format("{}", number);
  };
  if (axis.most == UINT64_MAX) return fmt::format("from {}", show(axis.least));
  return fmt::format("{} to {}", show(axis.least), show(axis.most));
}

Result<std::vector<Values>> values_per_axis(std::string_view benchmark,
                                            const std::vector<Axis>& axes,
                                            const std::vector<AxisSetting>& settings) {
  std::vector<Values> values(axes.size());
  for (const AxisSetting& setting : settings) {
    const auto axis = std::find_if(axes.begin(), axes.end(),
                                   [&](const Axis& a) { return a.name == setting.axis; });
    if (axis == axes.end()) {
      Values names;
      for (const Axis& a : axes) names.push_back(a.name);
      return Error{ErrorKind::usage,
                   fmt::format("{} has no axis \"{}\"{}; its axes: {}", benchmark, setting.axis,
                               did_you_mean(setting.axis, names), fmt::join(names, ", "))};
    }
    Values& chosen = values[static_cast<std::size_t>(axis - axes.begin())];
    if (!chosen.empty()) {
      return Error{ErrorKind::usage, fmt::format("axis {} is given twice; separate its values "
                                                 "with commas",
                                                 setting.axis)};
    }
    chosen = TRY(expand(*axis, setting.values));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (values[i].empty())
      values[i] = TRY(expand(axes[i], fmt::format("{}", fmt::join(axes[i].defaults, ","))));
  }
  return values;
}

}  // namespace

std::string allowed_values(const Axis& axis) {
  const std::string words = fmt::format("{}", fmt::join(axis.choices, ", "));
  if (axis.kind == Axis::Kind::text)
    return words.empty() ? axis.allowed : words + ", " + axis.allowed;
  if (axis.kind != Axis::Kind::choice && !words.empty()) {
    Axis numbers = axis;
    numbers.choices.clear();
    return words + ", " + allowed_values(numbers);
  }
  switch (axis.kind) {
    case Axis::Kind::choice:
    case Axis::Kind::text:
      return words;
    case Axis::Kind::shape:
      return fmt::format("MxNxK or one number for a cube, each {}", range_text(axis));
    case Axis::Kind::size:
      return fmt::format("sizes {} (4KiB, 1GiB, plain bytes), sweeps like 1MiB..8GiB*2",
                         range_text(axis));
    case Axis::Kind::member:
      return fmt::format("all, whole numbers {}, sweeps like 0..7+1", range_text(axis));
    case Axis::Kind::integer:
      break;
  }
  return fmt::format("whole numbers {}, sweeps like 1..16*2 or 1..4+1", range_text(axis));
}

Result<std::vector<std::string>> expand(const Axis& axis, std::string_view text) {
  Values values;
  std::unordered_set<std::string> seen;
  for (const std::string_view item : split(text, ",")) {
    for (std::string& value : TRY(expand_item(axis, item))) {
      if (seen.insert(value).second) values.push_back(std::move(value));
    }
  }
  return values;
}

Result<AxisSetting> parse_axis_setting(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return Error{ErrorKind::usage,
                 fmt::format("bad axis setting \"{}\": write axis=value[,value...], e.g. "
                             "size=1MiB..1GiB*4",
                             text)};
  }
  return AxisSetting{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Result<std::vector<Cell>> expand_cells(std::string_view benchmark, const std::vector<Axis>& axes,
                                       const std::vector<AxisSetting>& settings) {
  const std::vector<Values> values = TRY(values_per_axis(benchmark, axes, settings));
  std::size_t count = 1;
  for (const Values& of_axis : values) {
    count *= of_axis.size();
    if (count > most_cells) {
      return Error{ErrorKind::usage, fmt::format("{}: more than {} cells; choose fewer values",
                                                 benchmark, most_cells)};
    }
  }
  std::vector<Cell> cells;
  cells.reserve(count);
  for (std::size_t index = 0; index < count; ++index) {
    std::vector<std::pair<std::string, std::string>> chosen(axes.size());
    for (std::size_t i = axes.size(), rest = index; i-- > 0; rest /= values[i].size()) {
      chosen[i] = {axes[i].name, values[i][rest % values[i].size()]};
    }
    cells.emplace_back(std::string(benchmark), std::move(chosen));
  }
  return cells;
}

}  // namespace assay
