#include "advise/tune/parameter_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "advise/tune/condition.h"
#include "core/text.h"

namespace assay {
namespace {

Error wrong(std::string message) {
  return {ErrorKind::usage, std::move(message)};
}

/// The number of combinations of values. Error: usage if there are more than `most`.
Result<std::uint64_t> count_settings(const std::vector<Parameter>& parameters, std::uint64_t most) {
  std::uint64_t count = 1;
  for (const Parameter& parameter : parameters) {
    if (count > most / parameter.values.size()) {
      return wrong(
          fmt::format("the parameters have more than {} combinations of values; name "
                      "fewer values or parameters",
                      most));
    }
    count *= parameter.values.size();
  }
  return count;
}

/// The rank of each value among the parameter's values, scaled to 0 to 1; empty if not all values
/// are numbers.
std::vector<double> places_of(const Parameter& parameter) {
  std::vector<double> numbers;
  for (const std::string& value : parameter.values) {
    const auto number = parse_number(value);
    if (!number) return {};
    numbers.push_back(*number);
  }
  std::vector<double> places;
  const double most = static_cast<double>(std::max<std::size_t>(numbers.size(), 2) - 1);
  for (const double number : numbers) {
    const auto below = std::count_if(numbers.begin(), numbers.end(),
                                     [number](double other) { return other < number; });
    places.push_back(static_cast<double>(below) / most);
  }
  return places;
}

}  // namespace

Result<ParameterSpace> ParameterSpace::of(std::vector<Parameter> parameters) {
  if (parameters.empty()) return wrong("there is no parameter to tune");
  ParameterSpace space;
  for (const Parameter& parameter : parameters) {
    if (parameter.values.empty()) {
      return wrong(fmt::format("parameter {} has no values", parameter.name));
    }
    space.places_.push_back(places_of(parameter));
  }
  space.parameters_ = std::move(parameters);
  return space;
}

Result<ParameterSpace> ParameterSpace::one_at_a_time(std::vector<Parameter> parameters) {
  ParameterSpace space = TRY(of(std::move(parameters)));
  TRY(count_settings(space.parameters_, UINT64_MAX));  // checks that every code fits into 64 bits
  std::vector<std::size_t> values;
  for (const Parameter& parameter : space.parameters_) values.push_back(parameter.usual);
  const std::uint64_t usual = space.code_of(values);
  space.valid_.push_back(usual);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Parameter& parameter = space.parameters_[i];
    for (values[i] = 0; values[i] < parameter.values.size(); ++values[i]) {
      if (values[i] != parameter.usual) space.valid_.push_back(space.code_of(values));
    }
    values[i] = parameter.usual;
  }
  std::sort(space.valid_.begin(), space.valid_.end());
  space.usual_ = static_cast<std::size_t>(
      std::lower_bound(space.valid_.begin(), space.valid_.end(), usual) - space.valid_.begin());
  return space;
}

Result<ParameterSpace> ParameterSpace::make(std::vector<Parameter> parameters,
                                            const std::vector<std::string>& conditions) {
  ParameterSpace space = TRY(of(std::move(parameters)));
  const std::uint64_t count = TRY(count_settings(space.parameters_, most_settings));
  std::vector<std::string> names;
  for (const Parameter& parameter : space.parameters_) names.push_back(parameter.name);
  std::vector<Condition> compiled;
  for (const std::string& text : conditions) {
    compiled.push_back(TRY(Condition::compile(text, names)));
  }

  std::vector<std::size_t> values(space.parameters_.size(), 0), usual;
  for (const Parameter& parameter : space.parameters_) usual.push_back(parameter.usual);
  std::vector<std::string_view> texts(values.size());
  for (std::uint64_t code = 0; code < count; ++code) {
    std::uint64_t rest = code;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Parameter& parameter = space.parameters_[i];
      values[i] = rest % parameter.values.size();
      rest /= parameter.values.size();
      texts[i] = parameter.values[values[i]];
      if (texts[i] == unset) texts[i] = {};
    }
    const Condition* broken = nullptr;
    for (const Condition& condition : compiled) {
      if (!TRY(condition.holds(texts))) broken = &condition;
    }
    if (values == usual) {
      if (broken != nullptr) {
        return wrong(
            fmt::format("the default values, {}, break the condition \"{}\"; name others "
                        "as usual",
                        fmt::join(texts, ", "), broken->text()));
      }
      space.usual_ = space.valid_.size();
    }
    if (broken == nullptr) space.valid_.push_back(code);
  }
  return space;
}

std::vector<std::size_t> ParameterSpace::values_of(std::size_t setting) const {
  std::vector<std::size_t> values;
  std::uint64_t rest = valid_[setting];
  for (const Parameter& parameter : parameters_) {
    values.push_back(rest % parameter.values.size());
    rest /= parameter.values.size();
  }
  return values;
}

Settings ParameterSpace::settings_of(std::size_t setting) const {
  const std::vector<std::size_t> values = values_of(setting);
  Settings settings;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& value = parameters_[i].values[values[i]];
    if (value != unset) settings.push_back({parameters_[i].name, value});
  }
  return settings;
}

std::vector<CoordinateKind> ParameterSpace::kinds() const {
  std::vector<CoordinateKind> kinds;
  for (const auto& places : places_) {
    kinds.push_back(places.empty() ? CoordinateKind::named : CoordinateKind::ordered);
  }
  return kinds;
}

Coordinates ParameterSpace::point_of(std::size_t setting) const {
  const std::vector<std::size_t> values = values_of(setting);
  Coordinates point;
  for (std::size_t i = 0; i < values.size(); ++i) {
    point.push_back(places_[i].empty() ? static_cast<double>(values[i]) : places_[i][values[i]]);
  }
  return point;
}

std::uint64_t ParameterSpace::code_of(const std::vector<std::size_t>& values) const {
  std::uint64_t code = 0;
  for (std::size_t i = values.size(); i-- > 0;) {
    code = code * parameters_[i].values.size() + values[i];
  }
  return code;
}

std::vector<std::size_t> ParameterSpace::neighbours_of(std::size_t setting) const {
  std::vector<std::size_t> values = values_of(setting), neighbours;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t own = values[i];
    const double step =
        1.001 / static_cast<double>(std::max<std::size_t>(places_[i].size(), 2) - 1);
    for (std::size_t other = 0; other < parameters_[i].values.size(); ++other) {
      if (other == own) continue;
      const bool is_far =
          !places_[i].empty() && std::abs(places_[i][other] - places_[i][own]) > step;
      if (is_far) continue;
      values[i] = other;
      const auto at = std::lower_bound(valid_.begin(), valid_.end(), code_of(values));
      if (at != valid_.end() && *at == code_of(values)) {
        neighbours.push_back(static_cast<std::size_t>(at - valid_.begin()));
      }
    }
    values[i] = own;
  }
  return neighbours;
}

}  // namespace assay
