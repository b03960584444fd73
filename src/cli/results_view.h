// Records as text: a table per benchmark, and why cells have no value. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "results/record/record.h"

namespace assay::cli {

/// Formats a value: "812.3 GB/s". Bandwidths are in GB/s, so that a column is easy to compare.
std::string format_value(const Value& value);
/// The prefix of every value that comes from a model; empty for a measured value.
std::string_view model_mark(bool emulated);
/// Explains model_mark() in a line below a table.
inline constexpr const char* model_footnote =
    "model: an emulated device or a simulated server; its times come from a model, nothing was "
    "measured\n";
/// Formats "[811.9, 812.8]" in the value's own unit, or "too few samples" if `n` samples cannot
/// give a 95% interval of the median.
std::string format_interval(const Value& value, std::size_t n);
/// One line for a finished cell: value and interval, or status and reason or, without one, the
/// first three metrics. For an emulated device, "model 812.3 GB/s".
std::string outcome_text(const Record& record, const Style& style);

/// One table per benchmark, axes that never change in its heading; then the reasons of cells, those
/// with the same reason together, and which values are noisy, flagged, void or of a shared CPU.
std::string results_text(std::span<const Record> records, std::size_t width, const Style& style);

/// Counts the records by status: "24 cells: 20 passed, 1 failed, 3 unsupported".
std::string counts_text(std::span<const Record> records);

/// Names a device, and says if it is emulated: "cuda:0 NVIDIA H200, sm_90".
std::string device_text(const DeviceFacts& facts);

}  // namespace assay::cli
