// What a tuner may choose from: parameters with their values, and conditions that a setting must
// meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "statistics/gaussian_process.h"
#include "tune/settings.h"

namespace assay {

/// The value of an environment variable that is not set.
constexpr std::string_view unset = "unset";

struct Parameter {
  std::string name;
  std::vector<std::string> values;  ///< at least one, none twice
  std::size_t usual = 0;            ///< index of the value in use before tuning
};

/// All settings that meet the conditions; they are numbered from 0.
class ParameterSpace {
 public:
  static constexpr std::size_t most_settings = 1'000'000;  ///< before conditions

  /// A condition is an expression of SQLite over the parameters' names, e.g. "block_m * block_n <=
  /// 32768 AND dtype <> 'f64'"; a variable that is unset is NULL there. The usual values must meet
  /// all of them. Error: usage, naming the parameter or condition.
  static Result<ParameterSpace> make(std::vector<Parameter> parameters,
                                     const std::vector<std::string>& conditions);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::size_t size() const { return valid_.size(); }
  std::size_t usual() const { return usual_; }  ///< the setting in use before tuning

  /// The index of each parameter's value.
  std::vector<std::size_t> values_of(std::size_t setting) const;
  /// Every parameter with its value.
  Settings settings_of(std::size_t setting) const;

  /// Where a setting lies for a regression: parameters whose values are all numbers are ordered,
  /// by rank, scaled to 0 to 1.
  std::vector<CoordinateKind> kinds() const;
  Coordinates point_of(std::size_t setting) const;
  /// Those that differ in one parameter: in the next value if it is ordered, in any if not.
  std::vector<std::size_t> neighbours_of(std::size_t setting) const;

 private:
  std::uint32_t code_of(const std::vector<std::size_t>& values) const;

  std::vector<Parameter> parameters_;
  std::vector<std::vector<double>> places_;  // of each parameter's values; empty: not ordered
  std::vector<std::uint32_t> valid_;         // mixed-radix codes, ascending
  std::size_t usual_ = 0;
};

}  // namespace assay
