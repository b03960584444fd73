// Looks for silent data corruption: repeats work whose results have the same bits at every
// repetition and on every device of a kind, and compares checksums of all that it writes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advise/health/checked_work.h"
#include "advise/health/device_condition.h"
#include "advise/health/sdc_coverage.h"
#include "compute/device/device.h"
#include "core/json_fwd.h"
#include "core/result.h"
#include "ranks/team/team.h"

namespace assay::health {

/// The unit that tests free memory.
inline constexpr std::string_view patterns_name = "memory_patterns";

enum class SdcVerdict {
  sound,    ///< nothing differed in what was compared
  corrupt,  ///< a result differed from others of the same work
  unknown,  ///< too little could be compared
};
std::string_view name_of(SdcVerdict verdict);  ///< "SOUND"

/// One kind of work, and what was compared of it.
struct SdcUnit {
  std::string name;      ///< "gemm shape=8192 dtype=bf16"
  std::string left_out;  ///< why it was not tested; empty: it was
  /// The device may be wrong: the unit's check fails, it ends with an error after it has run, other
  /// than one for lack of memory, or it does not repeat although it calls no library.
  bool refused = false;
  bool calls_library = false;           ///< a library computes a part of it
  bool varies = false;                  ///< with a library, fewer than 6 of 8 repetitions agree
  std::string note;                     ///< what else is worth knowing
  std::uint64_t runs = 0;               ///< repetitions that were compared
  std::uint64_t calibration = 0;        ///< how many of them came before the first turn
  double seconds = 0;                   ///< of the work and its checksums, over all repetitions
  double flops = 0, bytes = 0;          ///< over all repetitions
  double checked_bytes = 0;             ///< bytes whose checksums were compared
  std::uint64_t planted = 0;            ///< how often a planned fault was planted in it
  std::uint64_t memory_bytes = 0;       ///< device memory that it uses
  std::string variant;                  ///< operations and algorithms, as a hash
  std::vector<KeptChoice> choices;      ///< made by measuring; other choices give other bits
  std::vector<std::string> operations;  ///< of a repetition, in order
  std::vector<std::uint64_t> trail;     ///< a checksum for each operation, and one for the end
  std::vector<std::size_t> scratch;     ///< numbers of buffers that are not compared
  std::vector<std::string> compared;    ///< "repetitions", "2 ranks", "the reference"
};

/// Bytes that are not what they should be.
struct SdcDifference {
  std::string unit;
  std::uint64_t run = 0;     ///< the repetition, from 1; 0: all of them
  int rank = 0;              ///< -1: one of several, and nothing says which
  std::string device;        ///< "cuda:0 NVIDIA H200, 0000:3b:00.0"
  std::string against;       ///< what it differs from: "the repetitions before"
  std::size_t launch = 0;    ///< number of the first operation that differs, from 1
  std::string operation;     ///< its name; "memory at rest" if no operation wrote these bytes
  std::size_t buffer = 0;    ///< number of the allocation, from 1; 0: unknown
  std::uint64_t offset = 0;  ///< in the buffer, of the first 8 bytes that differ, or of their block
  std::uint64_t address = 0;  ///< the same, as a virtual address on the device
  /// The 8 bytes, if both were seen: later operations may overwrite a value that was wrong once.
  std::optional<std::uint64_t> expected, found;
  std::uint64_t wrong_words = 0;  ///< in that block, if both were seen
  std::size_t wrong_blocks = 0;   ///< blocks of that operation that differ
  int replays = 0, replayed = 0;  ///< how often the work was replayed, and how often it differed
  DeviceCondition before, after;  ///< the repetition
};

/// The result of a test, on rank 0 that of all ranks.
struct SdcOutcome {
  SdcVerdict verdict = SdcVerdict::unknown;
  std::string why;     ///< one line
  std::string device;  ///< device of this rank, as SdcDifference::device
  std::uint64_t seed = 1;
  int ranks = 1;
  double seconds = 0;          ///< duration of the test
  double tested_seconds = 0;   ///< time in which devices worked or were checked, over all ranks
  std::vector<SdcUnit> units;  ///< with the repetitions of all ranks
  std::vector<SdcDifference> differences;   ///< the first of each rank: most_differences
  std::uint64_t difference_count = 0;       ///< also those that are not listed
  double flops = 0, bytes = 0;              ///< over all units and ranks
  std::vector<SdcCoverage> coverage;        ///< of each device
  std::vector<std::string> planted_faults;  ///< as they were asked for
  std::uint64_t planted = 0;                ///< how often any of them was planted
  /// The smallest rates of faults that would have been seen with a probability of 95%: 3 divided by
  /// what was tested on the device that did least, because a fault sits on a single device. Only
  /// with the verdict SOUND.
  std::optional<double> faults_per_device_hour, faults_per_1e15_flops, faults_per_1e15_bytes;
  bool interrupted = false;
  std::vector<std::string> notes;  ///< what the test left out or could not do, and why
};
Json to_json(const SdcOutcome& outcome);

/// How far a test is.
struct SdcProgress {
  double seconds = 0, of = 0;     ///< since the start; SdcPlan::seconds
  std::string unit;               ///< the unit that is being prepared or repeated
  std::uint64_t runs = 0;         ///< repetitions of this unit so far
  std::uint64_t differences = 0;  ///< found on this rank so far
};

/// How to test. Its functions are called on the thread that runs the test; all but `stop_requested`
/// may be empty.
struct SdcPlan {
  double seconds = 600;  ///< of the whole test; one turn of all units is finished in any case,
                         ///< unless it is stopped or finds more than most_differences
  std::uint64_t seed = 1;
  double memory_share = 0.9;  ///< of the memory that is free beside the units, for the patterns
  std::string only;       ///< units, by beginnings of their names, separated by commas; empty: all
  std::string reference;  ///< text of a reference file, not its path; empty: none
  std::size_t most_differences = 20;       ///< of a rank; the test ends early with more
  std::vector<WorkDescription> work = {};  ///< if not empty, it replaces corruption_work()
  bool patterns = true;                    ///< whether free memory is tested, too
  bool rests = true;                       ///< whether there are pauses, in every other turn
  std::vector<PlantedFault> faults = {};   ///< to see that the test finds them
  /// Called after every repetition that was compared, with the seconds and work of it alone.
  std::function<void(const SdcUnit& unit, double seconds, const Work& work)> repeated = {};
  std::function<void(const SdcProgress&)> progress = {};  ///< called often, see SdcProgress
  std::function<bool()> stop_requested = [] { return false; };
};

/// Tests `device`. All ranks of the team call it together, each with its own device and the same
/// plan; rank 0's outcome is about all of them. When stopped, or when the team fails, it returns
/// what it has. A unit that cannot be started is left out. A reference made with another seed or
/// other versions is not compared, which a note says, as one does if no unit could be compared to
/// the reference. Error: usage for a reference that cannot be read or is of another kind of device,
/// if no unit begins with `only`, or if a fault names a rank, unit, operation or buffer that is not
/// there; as Device::build() if kernels for the patterns cannot be built.
Result<SdcOutcome> check_corruption(const SdcPlan& plan, Device& device, Team& team);

/// Returns the text of a reference file for later tests of this kind of device: the checksums of
/// every unit, with the device and versions that gave them. Error: verification unless the outcome
/// is SOUND, whole and without planted faults.
Result<std::string> reference_of(const SdcOutcome& outcome, const Device& device);

}  // namespace assay::health
