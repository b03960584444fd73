#include "core/written_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace assay {
namespace {

constexpr double kilo = 1e3, mega = 1e6, giga = 1e9, tera = 1e12;
constexpr double gibi = 1073741824.0;
constexpr std::array<WrittenUnit, 26> written_units = {{
    {"bytes/s", "bytes/s", 1},
    {"MB/s", "bytes/s", mega},
    {"GB/s", "bytes/s", giga},
    {"Gb/s", "bytes/s", giga / 8},
    {"TB/s", "bytes/s", tera},
    {"FLOP/s", "FLOP/s", 1},
    {"GFLOP/s", "FLOP/s", giga},
    {"TFLOP/s", "FLOP/s", tera},
    {"tokens/s", "tokens/s", 1},
    {"samples/s", "samples/s", 1},
    {"1/s", "1/s", 1},
    {"min", "s", 60},
    {"s", "s", 1},
    {"ms", "s", 1 / kilo},
    {"us", "s", 1 / mega},
    {"ns", "s", 1 / giga},
    {"bytes", "bytes", 1},
    {"GB", "bytes", giga},
    {"TB", "bytes", tera},
    {"GiB", "bytes", gibi},
    {"TiB", "bytes", 1024 * gibi},
    {"GPUs", "GPUs", 1},
    {"lanes", "lanes", 1},
    {"GT/s", "GT/s", 1},
    {"W", "W", 1},
    {"1", "1", 1},
}};

}  // namespace

Result<WrittenUnit> written_unit(std::string_view text) {
  const auto* const known = std::ranges::find(written_units, text, &WrittenUnit::written);
  if (known != written_units.end()) return *known;
  std::string names;
  for (const WrittenUnit& one : written_units) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.written);
  }
  return Error{ErrorKind::usage, fmt::format("unknown unit \"{}\"; allowed: {}", text, names)};
}

}  // namespace assay
