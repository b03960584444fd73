// Stores of runs with values that a test chooses.
#pragma once

#include <fmt/format.h>

#include <string>

#include "results/store/store.h"
#include "support/test_record.h"

namespace assay {

/// Returns a sound run's record of `memory op=OP` with a bandwidth in GB/s, `number` days into
/// 2026.
inline Record sound_record(int number, double gigabytes, const std::string& op = "triad") {
  const double seconds = 3 / gigabytes;  // for 3 GB
  Record record = passed_record("1GiB", seconds);
  record.run = fmt::format("run{:03}", number);
  record.time = fmt::format("2026-{:02}-{:02}T12:00:00.000Z", 1 + number / 28, 1 + number % 28);
  record.cell = Cell("memory", {{"op", op}});
  record.value = Value{Quantity::bandwidth,
                       1e9 * gigabytes,
                       {0.99e9 * gigabytes, 1.01e9 * gigabytes},
                       Roof{4.8e12, "datasheet"},
                       1e9 * gigabytes / 4.8e12};
  record.samples->samples.assign(30, {seconds, 1.9e9, false});
  record.fingerprint.clear();
  return record;
}

/// Returns 1000 GB/s with noise of 0.3%, which depends only on the number of the run.
inline double usual(int number) {
  return 1000 * (1 + 0.003 * ((number * 7 % 11) - 5) / 5.0);
}

inline Json fingerprint_of(const std::string& host, const std::string& governor) {
  return {{"host", {{"name", host}}}, {"cpu", {{"governor", governor}}}};
}

}  // namespace assay
