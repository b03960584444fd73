// Records as a table for notebooks and spreadsheets: CSV by RFC 4180. Pure functions.
#pragma once

#include <span>
#include <string>

#include "results/record/record.h"

namespace assay::cli {

/// Returns a header and a row for each record: the run, its time, environment and benchmark, the
/// device, whether that is emulated, the status, each axis, the number of samples, and the value
/// and each metric with their 95% intervals, in SI units, which stand in brackets behind the
/// column's name. Cells without such an axis or metric are empty, and so are void metrics. An axis
/// of sizes such as "1GiB" is a column of bytes.
std::string records_csv(std::span<const Record> records);

/// Returns a header and a row for each sample of each record: the same columns up to the axes, then
/// the sample's number from 0, its seconds and whether the device was throttled. Records need their
/// samples (Detail::whole (results/store/store.h)).
std::string samples_csv(std::span<const Record> records);

}  // namespace assay::cli
