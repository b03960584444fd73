// The axes of a benchmark and the text that selects points on them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "results/record/cell.h"

namespace assay {

/// One axis of a benchmark. Values are text, in a form that depends on the kind: "size" axes take
/// IEC sizes and sweeps (1MiB..8GiB*2: each size is twice the one before, up to 8 GiB). "integer"
/// axes take integers and sweeps (1..16+1: in steps of 1). "shape" axes take MxNxK, where one
/// number or a sweep of numbers means cubes. "choice" axes take one of `choices`. "member" axes
/// take integers (numbers of devices or ranks), sweeps, or "all", which Benchmark::expand
/// (benchmark.h) replaces once the device and the team are known. "text" axes take what `check`
/// allows. Every kind also takes the values in `choices`.
struct Axis {
  enum class Kind { size, integer, shape, choice, member, text };

  std::string name;
  std::string description;
  Kind kind = Kind::choice;
  std::vector<std::string> defaults;  ///< values or sweeps of `run BENCHMARK`, at least one
  std::vector<std::string> choices;  ///< all values of a choice axis; for other kinds, extra values
  std::uint64_t least = 1;           ///< smallest size, integer or dimension of a shape
  std::uint64_t most = UINT64_MAX;   ///< largest such value
  /// Only for text axes, which need it: checks a value that is not in `choices`. Its message
  /// follows the axis's name; whatever its kind, the error becomes one of usage.
  Status (*check)(std::string_view value) = nullptr;
  std::string allowed = {};  ///< text axes only: the other allowed values, in words
  bool is_written = false;   ///< values that are not in `choices` are paths that the cell writes
};

/// The values an axis accepts, as text for messages and lists: "copy, triad", "whole numbers 1 to
/// 16, sweeps like ...".
std::string allowed_values(const Axis& axis);

/// Expands "4KiB,1MiB..8GiB*2" or "f32,f64" to single values, in order, without duplicates. Numbers
/// get one form: 1024KiB becomes 1MiB. For a choice axis "all" means every choice. Error: usage,
/// naming the axis, the text and what is allowed; also for a sweep of more than 10000 values.
Result<std::vector<std::string>> expand(const Axis& axis, std::string_view text);

/// A user's choice for one axis, "size=1MiB..8GiB*2", split at the first '='.
struct AxisSetting {
  std::string axis;
  std::string values;
};

/// Parses "AXIS=VALUES". Error: usage if there is no '=' or one side of it is empty.
Result<AxisSetting> parse_axis_setting(std::string_view text);

/// The cartesian product of all axes; the first axis varies slowest, and each setting replaces its
/// axis's defaults. Error: as expand(); usage if a setting names no axis of the benchmark (with a
/// list of its axes), if two settings name the same axis, or if there would be more than 100000
/// cells.
Result<std::vector<Cell>> expand_cells(std::string_view benchmark, const std::vector<Axis>& axes,
                                       const std::vector<AxisSetting>& settings);

/// The `check` of an axis whose values are paths. It accepts every text; whoever reads or writes
/// the file reports errors.
inline Status any_path(std::string_view) {
  return {};
}

}  // namespace assay
