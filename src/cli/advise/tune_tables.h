// Formats the parts of tables that all tunings use. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cli/terminal.h"

namespace assay::cli {

/// A product or a convolution to tune.
struct ListedProblem {
  std::string name;
  std::uint64_t calls = 0;        ///< in the workload that names the problem
  std::optional<double> seconds;  ///< of one call at the device's rooflines; empty: not known
};
/// A table of the problems, before anything was measured; `what` is the title of their names.
std::string listed_text(const char* what, std::span<const ListedProblem> problems,
                        std::size_t width, const Style& style);

/// Formats a ratio of speeds, such as 1.271, with the ends of its 95% interval: "+27.1% [+26.8,
/// +27.4]".
std::string gain_text(double gain, double low, double high);
/// Returns floor_seconds, the time at the roofline, as a share of both times: "62% -> 71%", or
/// "62%" without `after_seconds`; empty without `floor_seconds`.
std::string roofs_text(std::optional<double> floor_seconds, double before_seconds,
                       std::optional<double> after_seconds);

/// Returns "3 of 8 products faster; all calls 1.2 ms before, 1.1 ms after (+9.1%)\n".
std::string sum_text(std::size_t faster, std::size_t measured, const char* what,
                     double before_seconds, double after_seconds);

}  // namespace assay::cli
