// Records for tests of code that stores, reads or shows them.
#pragma once

#include "results/record/record.h"

namespace assay {

/// Returns a passed record in which every optional part is present; the value follows from the
/// samples.
inline Record passed_record(const std::string& size = "1GiB", double seconds = 1e-3) {
  Record record;
  record.run = "20260131T120000Z-0001";
  record.time = "2026-01-31T12:00:01.500Z";
  record.cell = Cell("memory", {{"op", "triad"}, {"size", size}});
  record.device.backend = "fake";
  record.device.name = "scripted device";
  record.device.arch = "fake";
  record.device.memory_bytes = 1 << 30;
  record.device.memory_clock_hz = 2.6e9;
  record.device.memory_bus_bits = 5120;
  record.status = RecordStatus::passed;
  record.work = Work{.bytes = 3e9, .flops = 2e9, .repetitions = 1, .math = DataType::f64};
  SampleSet set;
  set.samples = {{seconds, 1.9e9, false}, {seconds, std::nullopt, true}};
  set.gated = true;
  set.warmup_launches = 12;
  set.warmup_stop = StopReason::warm;
  set.stop = StopReason::time_box;
  set.wall_seconds = 2.5;
  set.before.power_watts = 300;
  set.after.throttle_reasons = "thermal";
  record.samples = set;
  record.seconds = Summary{.n = 30,
                           .effective_n = 25,
                           .autocorrelation = 0.1,
                           .minimum = seconds,
                           .q1 = seconds,
                           .median = seconds,
                           .q3 = seconds,
                           .p95 = seconds,
                           .maximum = seconds * 1.01,
                           .mean = seconds,
                           .interval95 = {seconds * 0.99, seconds * 1.01}};
  record.verification = Verification{true, "every element", 0, 0, ""};
  record.value = Value{Quantity::bandwidth,
                       3e9 / seconds,
                       {2.97e9 / seconds, 3.03e9 / seconds},
                       Roof{4.8e12, "datasheet"},
                       3e9 / seconds / 4.8e12};
  record.notes = {{"level", "dram"}, {"block", "256"}};
  record.fingerprint = "0123456789abcdef";
  return record;
}

inline Record unsupported_record(const std::string& size, const std::string& reason) {
  Record record;
  record.run = "20260131T120000Z-0001";
  record.time = "2026-01-31T12:00:01.500Z";
  record.cell = Cell("memory", {{"op", "triad"}, {"size", size}});
  record.device.backend = "fake";
  record.device.name = "scripted device";
  record.status = RecordStatus::unsupported;
  record.reason = reason;
  record.fingerprint = "0123456789abcdef";
  return record;
}

}  // namespace assay
