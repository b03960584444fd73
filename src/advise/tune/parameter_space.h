// What a tuner may choose from: the settings that parameters and their values make, of which
// conditions may leave some out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "advise/tune/parameter.h"
#include "advise/tune/settings.h"
#include "core/result.h"
#include "statistics/gaussian_process.h"

namespace assay {

/// All settings that meet the conditions; they are numbered from 0.
class ParameterSpace {
 public:
  static constexpr std::size_t most_settings = 1'000'000;  ///< before conditions

  /// A condition is an expression of SQLite over the parameters' names, e.g. "block_m * block_n <=
  /// 32768 AND dtype <> 'f64'"; a variable that is unset is NULL there. The usual values must meet
  /// all of them. Error: usage, naming the parameter or condition.
  static Result<ParameterSpace> make(std::vector<Parameter> parameters,
                                     const std::vector<std::string>& conditions);
  /// The settings that differ from the usual one in at most one parameter. Error: usage, naming
  /// the parameter.
  static Result<ParameterSpace> one_at_a_time(std::vector<Parameter> parameters);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::size_t size() const { return valid_.size(); }
  std::size_t usual() const { return usual_; }  ///< the setting in use before tuning

  /// The index of each parameter's value.
  std::vector<std::size_t> values_of(std::size_t setting) const;
  /// Every parameter that is set, with its value.
  Settings settings_of(std::size_t setting) const;

  /// Where a setting lies for a regression: parameters whose values are all numbers are ordered,
  /// by rank, scaled to 0 to 1.
  std::vector<CoordinateKind> kinds() const;
  Coordinates point_of(std::size_t setting) const;
  /// Those that differ in one parameter: in the next value if it is ordered, in any if not.
  std::vector<std::size_t> neighbours_of(std::size_t setting) const;

 private:
  static Result<ParameterSpace> of(std::vector<Parameter> parameters);
  std::uint64_t code_of(const std::vector<std::size_t>& values) const;

  std::vector<Parameter> parameters_;
  std::vector<std::vector<double>> places_;  // of each parameter's values; empty: not ordered
  std::vector<std::uint64_t> valid_;         // mixed-radix codes, ascending
  std::size_t usual_ = 0;
};

}  // namespace assay
