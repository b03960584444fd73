// The axes of a benchmark and the text that selects points on them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "results/record/cell.h"

namespace assay {

/// One axis of a benchmark. Values are text: "size" axes take IEC sizes and sweeps (1MiB..8GiB*2),
/// "integer" axes integers and sweeps (1..16+1), "shape" axes MxNxK, where one number or a sweep of
/// numbers means cubes, "choice" axes one of `choices`, "member" axes integers, sweeps, or "all",
/// which is expanded once the device and the team are known (Benchmark::expand); "text" axes take
/// what `check` allows. Beside numbers, an axis takes the words in `choices`.
struct Axis {
  enum class Kind { size, integer, shape, choice, member, text };

  std::string name;
  std::string description;
  Kind kind = Kind::choice;
  std::vector<std::string> defaults;  ///< what `run BENCHMARK` measures; may hold sweeps
  std::vector<std::string> choices;   ///< all allowed values of a choice axis, or further ones
  std::uint64_t least = 1;            ///< smallest value of a size, integer or shape's dimension
  std::uint64_t most = UINT64_MAX;    ///< largest
  /// Of a text axis: why a value that is not in `choices` is not allowed, a message to follow the
  /// axis's name.
  Status (*check)(std::string_view value) = nullptr;
  std::string allowed = {};  ///< of a text axis: what it takes beside `choices`, for people
};

/// The values an axis accepts, for messages and lists: "copy, triad", "1MiB..8GiB or a sweep like
/// ...".
std::string allowed_values(const Axis& axis);

/// Expands "4KiB,1MiB..8GiB*2" or "f32,f64" or "all" (choices only) to canonical values, in order,
/// without duplicates. Error: usage, naming the axis, the text and what is allowed.
Result<std::vector<std::string>> expand(const Axis& axis, std::string_view text);

/// A user's choice for one axis: "size=1MiB..8GiB*2" split at the first '='.
struct AxisSetting {
  std::string axis;
  std::string values;
};

/// Error: usage if there is no '=' or an empty side.
Result<AxisSetting> parse_axis_setting(std::string_view text);

/// The cartesian product of all axes, first axis slowest, each setting replacing its axis's
/// defaults. Error: usage, listing the benchmark's axes if a setting names none of them, if two
/// settings name the same axis, or if there would be more than 100000 cells.
Result<std::vector<Cell>> expand_cells(std::string_view benchmark, const std::vector<Axis>& axes,
                                       const std::vector<AxisSetting>& settings);

}  // namespace assay
