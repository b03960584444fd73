// How often planted faults are found, and blamed on the right operation: one fault at a time in one
// repetition of a unit of `assay health sdc`. Whether a fault changed an output is decided by
// comparing all memory byte by byte with a run without it.
//   build/bench/bench_corruption_rates [FAULTS-A-KIND [DEVICE [UNITS]]]
// On the virtual MI300X (ASSAY_HIP_LIBRARY, DEVICE hip) the chip itself computes wrongly, too.
// docs/results/ keeps the measured tables.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

#include "advise/health/corruption_work.h"
#include "compute/device/backend.h"
#include "compute/device/rtc_worker.h"
#include "core/environment_value.h"
#include "core/random.h"

namespace assay::health {
namespace {

/// The part of tests/mi300x/runtime/virtual.h that corrupts the chip; null on other devices.
struct DefectiveChip {
  void (*corrupt)(const char* kind, double rate, unsigned long long seed, const char* spared);
  unsigned long long (*corruptions)();
  void (*reset)();
};

std::optional<DefectiveChip> defective_chip() {
  void* const library =
      dlopen(environment_value("ASSAY_HIP_LIBRARY").c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  DefectiveChip chip = {};
  *reinterpret_cast<void**>(&chip.corrupt) = dlsym(library, "mi300x_corrupt");
  *reinterpret_cast<void**>(&chip.corruptions) = dlsym(library, "mi300x_corruptions");
  *reinterpret_cast<void**>(&chip.reset) = dlsym(library, "mi300x_reset");
  if (chip.corrupt == nullptr || chip.corruptions == nullptr) return std::nullopt;
  return chip;
}

struct Tally {
  int planted = 0;  ///< faults that happened
  int stopped = 0;  ///< that stopped the program
  int changed = 0;  ///< that changed a byte of memory at the end
  int found = 0;    ///< of those
  int hidden = 0;   ///< found although they changed no byte at the end
  int blamed = 0;   ///< found in the operation in which they happened
  int later = 0;    ///< found in a later one
};

/// A unit that is ready, and what it gives without faults.
struct Unit {
  std::unique_ptr<Device> device;
  std::unique_ptr<CheckedWork> work;
  Sums expected;
  std::vector<std::byte> bytes;
};

const std::function<bool()> never = [] { return false; };

Result<Unit> make_unit(std::vector<std::unique_ptr<Backend>>& backends, const std::string& choice,
                       const WorkDescription& description) {
  Unit unit;
  unit.device = TRY(open_device(backends, choice));
  unit.work = TRY(CheckedWork::prepare(description, *unit.device, solo_team(), 1, never));
  unit.expected = TRY(unit.work->learn());
  constexpr int healthy = 3;
  for (int i = 0; i < healthy; ++i) {
    const Sums sums = TRY(unit.work->repeat());
    if (!unit.work->differing(sums, unit.expected).empty()) {
      return Error{ErrorKind::verification, description.name + " differs without a fault"};
    }
  }
  unit.bytes = TRY(unit.work->all_bytes());
  return unit;
}

/// Runs once with a fault. Error: the fault stopped the program.
Status run_once(Unit& unit, const std::string& kind, const std::optional<DefectiveChip>& chip,
                Random& random, Tally& tally) {
  CheckedWork& work = *unit.work;
  const auto below = [&](std::uint64_t limit) {
    return static_cast<std::uint64_t>(random.uniform() * static_cast<double>(limit));
  };
  constexpr std::size_t nowhere = SIZE_MAX;
  std::size_t happened = nowhere;
  const bool by_software = kind == "result" || kind == "rest";
  if (by_software) {
    PlantedFault fault;
    fault.launch = 1 + below(work.launches().size());
    fault.offset = below(std::uint64_t{1} << 40);
    fault.mask = std::uint64_t{1} << below(64);
    // The flipped word is one that the operation wrote, or any.
    if (kind == "rest") {
      const auto blocks = unit.expected.size() - work.checked_sums();
      fault.buffer = work.buffer_of(work.checked_sums() + below(blocks)).number;
    } else if (work.launches()[fault.launch - 1].count == 0) {
      return {};
    }
    happened = fault.launch - 1;
    work.plant(fault);
  } else {
    // Rates of all magnitudes, so that the first event is anywhere in the run.
    constexpr double magnitudes = 5;
    work.observe([&](Stream& stream, std::size_t launch) -> Status {
      TRY(stream.synchronize());
      if (happened == nowhere && chip->corruptions() > 0) happened = launch;
      return {};
    });
    chip->corrupt(kind.c_str(), std::pow(10, -magnitudes * random.uniform()),
                  below(std::uint64_t{1} << 40), "checksum_blocks");
  }
  const auto sums = work.repeat();
  if (!by_software) chip->corrupt("none", 0, 1, "");
  work.plant(std::nullopt);
  work.observe(nullptr);
  if (happened == nowhere && sums.ok()) return {};
  ++tally.planted;
  if (!sums.ok()) {
    ++tally.stopped;
    return sums.error();
  }
  const std::vector<std::byte> bytes = TRY(work.all_bytes());
  const bool changed = bytes != unit.bytes;
  const auto blocks = work.differing(*sums, unit.expected);
  if (changed) ++tally.changed;
  if (changed && !blocks.empty()) ++tally.found;
  if (!changed && !blocks.empty()) ++tally.hidden;
  if (!blocks.empty()) ++(blocks.front().launch == happened ? tally.blamed : tally.later);
  return {};
}

Status measure(int faults, const std::string& choice, const std::string& only) {
  auto backends = make_backends();
  std::vector<WorkDescription> works;
  {
    const auto device = TRY(open_device(backends, choice));
    for (WorkDescription& work : corruption_work(*device, solo_team())) {
      if (is_chosen(work.name, only)) works.push_back(std::move(work));
    }
  }
  const auto chip = defective_chip();
  std::vector<std::string> kinds = {"result", "rest"};
  if (chip) kinds.insert(kinds.end(), {"vgpr", "lds", "hbm", "mfma", "store", "stale"});
  std::map<std::string, Tally> tallies;
  int alarms = 0, clean = 0;
  const int units = static_cast<int>(works.size()), share = (faults + units - 1) / units;
  for (const WorkDescription& description : works) {
    auto unit = make_unit(backends, choice, description);
    if (!unit.ok()) {
      fmt::print("left out {}: {}\n", description.name, unit.error().message);
      continue;
    }
    for (const std::string& kind : kinds) {
      Random random(std::hash<std::string>()(kind + description.name));
      const int wanted = tallies[kind].planted + share;
      // A unit without matrix instructions has no such fault.
      for (int tries = 0; tallies[kind].planted < wanted && tries < 4 * share; ++tries) {
        const Status ran = run_once(*unit, kind, chip, random, tallies[kind]);
        if (!ran.ok()) {
          // The device is lost: begin anew.
          unit->work.reset();
          unit->device.reset();
          if (chip) chip->reset();
          unit = TRY(make_unit(backends, choice, description));
        } else {
          const Sums sums = TRY(unit->work->repeat());
          ++clean;
          if (!unit->work->differing(sums, unit->expected).empty()) ++alarms;
        }
      }
    }
    fmt::print("{} done\n", description.name);
    std::fflush(stdout);
  }
  fmt::print("{:8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "fault", "planted", "stopped",
             "changed", "found", "hidden", "blamed", "later");
  for (const std::string& kind : kinds) {
    const Tally& tally = tallies[kind];
    fmt::print("{:8} {:8} {:8} {:8} {:8} {:8} {:8} {:8}\n", kind, tally.planted, tally.stopped,
               tally.changed, tally.found, tally.hidden, tally.blamed, tally.later);
  }
  fmt::print("{} repetitions without a fault, {} false alarms\n", clean, alarms);
  return {};
}

}  // namespace
}  // namespace assay::health

int main(int argc, char** argv) {
  if (const auto status = assay::run_as_rtc_worker(argc, argv)) return *status;
  const int faults = argc > 1 ? std::atoi(argv[1]) : 300;
  const auto done = assay::health::measure(faults, argc > 2 ? argv[2] : "cpu",
                                           argc > 3 ? argv[3] : "gemm,memory,attention");
  if (done.ok()) return 0;
  fmt::print(stderr, "{}\n", done.error().message);
  return 1;
}
