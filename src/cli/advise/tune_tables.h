// What the tables of tunings share. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cli/terminal.h"

namespace assay::cli {

/// One of what is to be tuned.
struct ListedProblem {
  std::string name;
  std::uint64_t calls = 0;
  std::optional<double> seconds;  ///< of one call at the device's rooflines
};
/// All of them, before anything was measured; `what` heads their names.
std::string listed_text(const char* what, std::span<const ListedProblem> problems,
                        std::size_t width, const Style& style);

/// "+27.1% [+26.8, +27.4]" of a ratio of speeds.
std::string gain_text(double gain, double low, double high);
/// "62% -> 71%" of a roof, or "62%" if nothing became faster; empty without a known roof.
std::string roofs_text(std::optional<double> floor_seconds, double before_seconds,
                       std::optional<double> after_seconds);

/// "3 of 8 products faster; all calls 1.2 ms before, 1.1 ms after (+9.1%)\n"
std::string sum_text(std::size_t faster, std::size_t measured, const char* what,
                     double before_seconds, double after_seconds);

}  // namespace assay::cli
