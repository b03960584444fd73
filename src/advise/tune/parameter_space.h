// The space that a tuner searches: all combinations of the parameters' values, except those that
// conditions exclude.
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

/// All settings that satisfy the conditions, numbered from 0.
class ParameterSpace {
 public:
  static constexpr std::size_t most_settings = 1'000'000;  ///< before conditions

  /// Makes the space. A condition is an expression of SQLite over the parameters' names, e.g.
  /// "block_m * block_n <= 32768 AND dtype <> 'f64'"; a variable that is unset is NULL in it. The
  /// default values must satisfy all conditions. Error: usage, naming the parameter or condition;
  /// also for more than `most_settings` combinations.
  static Result<ParameterSpace> make(std::vector<Parameter> parameters,
                                     const std::vector<std::string>& conditions);
  /// Returns the space of the settings that differ from the default one in at most one parameter.
  /// Error: usage, naming the parameter; also if all combinations together do not fit into 64 bits.
  static Result<ParameterSpace> one_at_a_time(std::vector<Parameter> parameters);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::size_t size() const { return valid_.size(); }
  std::size_t usual() const { return usual_; }  ///< the default: the setting in use before tuning

  /// Returns for each parameter the index of its value in `setting`.
  std::vector<std::size_t> values_of(std::size_t setting) const;
  /// Returns the parameters that are set in `setting`, with their values.
  Settings settings_of(std::size_t setting) const;

  /// Return the kinds of coordinates, one for each parameter, and those of a setting, for
  /// regression. A parameter whose values are all numbers is ordered: its coordinate is the rank of
  /// the value, scaled to 0 to 1.
  std::vector<CoordinateKind> kinds() const;
  Coordinates point_of(std::size_t setting) const;
  /// Returns the settings of the space that differ from `setting` in one parameter: by one step if
  /// it is ordered, by any other value if not.
  std::vector<std::size_t> neighbours_of(std::size_t setting) const;

 private:
  static Result<ParameterSpace> of(std::vector<Parameter> parameters);
  std::uint64_t code_of(const std::vector<std::size_t>& values) const;

  std::vector<Parameter> parameters_;
  std::vector<std::vector<double>> places_;  // coordinates of each parameter's values; empty: not
                                             // ordered
  std::vector<std::uint64_t> valid_;         // mixed-radix codes, ascending
  std::size_t usual_ = 0;
};

}  // namespace assay
