// What a test for silent data corruption covered of one device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "advise/health/power_watch.h"
#include "core/json_fwd.h"
#include "core/result.h"

namespace assay::health {

struct SdcUnit;

struct SdcCoverage {
  int rank = 0;
  std::string device;               ///< "cuda:0 NVIDIA H200, 0000:3b:00.0"
  std::uint64_t memory_bytes = 0;   ///< memory that the device has
  std::uint64_t pattern_bytes = 0;  ///< memory that patterns covered at once; 0: none
  std::uint64_t unit_bytes = 0;     ///< memory that units held beside it, checked as they write it
  int multiprocessors = 0;          ///< number that the device has
  /// On how many of these kernels ran that compute checksums or patterns. Empty: kernels cannot
  /// tell, as on CPUs.
  std::optional<int> multiprocessors_seen;
  std::uint64_t units = 0, runs = 0;  ///< units and their repetitions that were compared
  std::uint64_t operations = 0;       ///< kernels, copies and calls of libraries in these runs
  double flops = 0, bytes = 0;        ///< of these runs
  double checked_bytes = 0;           ///< bytes that were compared
  double seconds = 0;                 ///< time that they took, with their checksums
  PowerSeen power;                    ///< during the turns
};

/// Adds up what the units of one device did; units that were left out or never ran do not count.
void add_units(SdcCoverage& coverage, std::span<const SdcUnit> units);

Json to_json(const SdcCoverage& coverage);
Result<SdcCoverage> coverage_from(const Json& json);

}  // namespace assay::health
