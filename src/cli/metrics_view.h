// Metrics of records (results/record/metric.h) as text. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/record/record.h"

namespace assay::cli {

/// Four significant digits: "184.9 GB/s", "10.89 ms", "378". Bytes/s are always in GB/s, so that a
/// column is easy to compare. Whole numbers keep all digits, but for times, bytes, rates of bytes
/// and FLOPs, and dollars.
std::string format_metric(const Metric& metric);

/// The metrics shown in a table of these records, in the program's order: those of the first record
/// that has any, then others, at most `most`.
std::vector<std::string> shown_metrics(std::span<const Record* const> records, std::size_t most);

/// How many different metrics the records have.
std::size_t count_metrics(std::span<const Record* const> records);

/// The text of the record's metric `name`, with model_mark() (results_view.h) if it comes from a
/// model; "void" if the metric is void, empty if the record does not have it.
std::string metric_text(const Record& record, std::string_view name);

}  // namespace assay::cli
