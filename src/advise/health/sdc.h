// Looks for silent data corruption: repeats work whose results have the same bits at every
// repetition and on every device of a kind, and compares checksums of all that it writes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/device/device.h"
#include "core/json_fwd.h"
#include "core/result.h"
#include "machine/system/sensor_reading.h"
#include "ranks/team/team.h"

namespace assay::health {

enum class SdcVerdict {
  sound,    ///< nothing differed in what was compared
  corrupt,  ///< a result differed from others of the same work
  unknown,  ///< too little could be compared
};
std::string_view name_of(SdcVerdict verdict);  ///< "SOUND"

/// One kind of work and what was compared of it.
struct SdcUnit {
  std::string name;                ///< "gemm shape=1024x1024x1024 type=bf16"
  std::string left_out;            ///< why it was not tested; empty: it was
  std::uint64_t runs = 0;          ///< repetitions that were compared
  std::size_t launches = 0;        ///< operations of one repetition, each with checksums
  double seconds = 0;              ///< of the device, over all repetitions, with the checksums
  double flops = 0, bytes = 0;     ///< over all repetitions
  double checked_bytes = 0;        ///< bytes whose checksums were compared
  std::uint64_t memory_bytes = 0;  ///< device memory that it uses
  std::uint64_t checksum = 0;      ///< of everything that a repetition writes
  std::string variant;             ///< operations and algorithms, as a hash
  std::vector<std::string> compared = {};  ///< "repetitions", "2 ranks", "the reference"
};

/// Bytes that are not what they should be.
struct SdcDifference {
  std::string unit;
  std::uint64_t run = 0;  ///< the repetition, from 1
  int rank = 0;
  std::string device;         ///< "cuda:0 NVIDIA H200, serial ..."
  std::string against;        ///< what it differs from: "3 of 3 other repetitions"
  std::size_t launch = 0;     ///< number of the first operation that differs, from 1
  std::string operation;      ///< its name; "memory at rest" if no operation wrote these bytes
  std::size_t buffer = 0;     ///< number of the allocation
  std::uint64_t offset = 0;   ///< of the 8 bytes, within the buffer
  std::uint64_t address = 0;  ///< virtual, on the device
  /// The word, if both were seen: a value that later work overwrote is gone.
  std::optional<std::uint64_t> expected, found;
  std::uint64_t wrong_words = 0;  ///< in the first blocks that differ
  int replays = 0, replayed = 0;  ///< how often the repetition was replayed, and differed again
  SensorReading before, after;
};

struct SdcOutcome {
  SdcVerdict verdict = SdcVerdict::unknown;
  std::string why;     ///< one line
  std::string device;  ///< name of the device of rank 0
  int ranks = 1;
  double seconds = 0;         ///< that this took, on the clock
  double tested_seconds = 0;  ///< in which the devices worked, on the average rank
  std::vector<SdcUnit> units;
  std::vector<SdcDifference> differences;
  std::uint64_t difference_count = 0;                 ///< also those that are not listed
  double flops = 0, bytes = 0;                        ///< over all units and ranks
  std::uint64_t memory_tested = 0, memory_total = 0;  ///< bytes under patterns, on the least rank
  /// The smallest rates of faults that would have been seen with 95%: 3 over the exposure.
  std::optional<double> faults_per_device_hour, faults_per_1e15_flops, faults_per_1e15_bytes;
  bool interrupted = false;
  std::vector<std::string> notes;
};
Json to_json(const SdcOutcome& outcome);

struct SdcProgress {
  double seconds = 0, of = 0;
  std::string unit;
  std::uint64_t runs = 0, differences = 0;
};

struct SdcPlan {
  double seconds = 600;  ///< of the whole test; one turn of all units is always finished
  std::uint64_t seed = 1;
  double memory_share = 0.9;  ///< of the free memory, for the patterns
  std::string only;       ///< units, by beginnings of their names, separated by commas; empty: all
  std::string reference;  ///< text of a reference file; empty: none
  std::size_t most_differences = 20;  ///< listed
  std::function<void(const SdcProgress&)> progress = {};
  std::function<bool()> stop_requested = [] { return false; };
};

/// Tests `device`. All ranks of the team call it together, each with its own device and the same
/// plan; rank 0's outcome is about all of them. Stopped by `stop_requested`, it returns what it
/// has. Error: unavailable or failed if the work cannot be started; usage for a reference that
/// cannot be read; as Team::exchange.
Result<SdcOutcome> check_corruption(const SdcPlan& plan, Device& device, Team& team);

/// The reference that later tests of this kind of device may be given: checksums of every unit,
/// with the device, driver and libraries that gave them. Error: verification unless the outcome is
/// SOUND.
Result<std::string> reference_of(const SdcOutcome& outcome, const Device& device);

}  // namespace assay::health
