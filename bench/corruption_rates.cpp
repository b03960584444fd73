// How often planted faults are found, and blamed on the right operation: one fault at a time in one
// repetition of a unit of `assay health sdc`. Whether a fault changed an output is decided by
// comparing all memory byte by byte with a run without it.
//   build/bench/bench_corruption_rates [FAULTS-A-KIND [DEVICE [UNIT[;UNIT...] [KIND[,KIND...]]]]]
// A unit is a cell, such as "gemm shape=64 dtype=bf16 library=own", or one of the test's own units.
// A kind is a word of the first column of the printed table. On the virtual MI300X
// (ASSAY_HIP_LIBRARY, DEVICE hip) the chip itself computes wrongly, too. docs/health.md keeps the
// measured table.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "advise/health/corruption_work.h"
#include "compute/device/backend.h"
#include "compute/device/rtc_worker.h"
#include "core/environment_value.h"
#include "core/random.h"

namespace assay::health {
namespace {

/// Small, because an emulated chip is slow, and with kernels that read what others wrote.
constexpr std::string_view small_units =
    "memory op=dot dtype=f32 size=64KiB cache=hot;gemm shape=64 dtype=bf16 library=own;"
    "attention pass=backward precision=bf16 attention=own sequence=64 batch=1 heads=1 width=32";

/// Kernels of the test itself, in which no fault is planted.
constexpr const char* own_kernels = "checksum_blocks";

/// The part of tests/mi300x/runtime/virtual.h that corrupts the chip; null on other devices.
struct DefectiveChip {
  void (*corrupt)(const char* kind, unsigned long long nth, unsigned long long seed,
                  const char* spared);
  unsigned long long (*corruptions)();
  unsigned long long (*events)();
  void (*reset)();
};

std::optional<DefectiveChip> defective_chip() {
  void* const library =
      dlopen(environment_value("ASSAY_HIP_LIBRARY").c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  DefectiveChip chip = {};
  *reinterpret_cast<void**>(&chip.corrupt) = dlsym(library, "mi300x_corrupt");
  *reinterpret_cast<void**>(&chip.corruptions) = dlsym(library, "mi300x_corruptions");
  *reinterpret_cast<void**>(&chip.events) = dlsym(library, "mi300x_corruption_events");
  *reinterpret_cast<void**>(&chip.reset) = dlsym(library, "mi300x_reset");
  if (chip.corrupt == nullptr || chip.corruptions == nullptr || chip.events == nullptr) {
    return std::nullopt;
  }
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

bool is_by_software(const std::string& kind) {
  return kind == "result" || kind == "rest";
}

/// How many events of a kind a repetition of the unit has: each can go wrong.
Result<std::uint64_t> events_of(Unit& unit, const std::string& kind,
                                const std::optional<DefectiveChip>& chip) {
  if (is_by_software(kind)) return std::uint64_t{1};
  chip->corrupt(kind.c_str(), 0, 1, own_kernels);
  const auto ran = unit.work->repeat();
  const std::uint64_t events = chip->events();
  chip->corrupt("none", 0, 1, "");
  if (!ran.ok()) return ran.error();
  return events;
}

/// Runs once with a fault. Error: the fault stopped the program.
Status run_once(Unit& unit, const std::string& kind, std::uint64_t events,
                const std::optional<DefectiveChip>& chip, Random& random, Tally& tally) {
  CheckedWork& work = *unit.work;
  const auto below = [&](std::uint64_t limit) {
    return static_cast<std::uint64_t>(random.uniform() * static_cast<double>(limit));
  };
  constexpr std::size_t nowhere = SIZE_MAX;
  std::size_t happened = nowhere;
  if (is_by_software(kind)) {
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
    work.observe([&](Stream& stream, std::size_t launch) -> Status {
      TRY(stream.synchronize());
      if (happened == nowhere && chip->corruptions() > 0) happened = launch;
      return {};
    });
    chip->corrupt(kind.c_str(), 1 + below(events), below(std::uint64_t{1} << 40), own_kernels);
  }
  const auto sums = work.repeat();
  if (!is_by_software(kind)) chip->corrupt("none", 0, 1, "");
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

/// A unit, and how many faults of each kind are planted in it.
struct Planned {
  WorkDescription work;
  std::map<std::string, std::uint64_t> events;
};

class Rates {
 public:
  /// `only`: the chosen kinds, between commas; empty: all.
  Rates(int faults, std::string choice, std::string_view only)
      : faults_(faults), choice_(std::move(choice)), only_(only), backends_(make_backends()) {}

  Status measure(std::string_view units) {
    {
      const auto device = TRY(open_device(backends_, choice_));
      while (!units.empty()) {
        const std::string_view text = units.substr(0, units.find(';'));
        units.remove_prefix(std::min(units.size(), text.size() + 1));
        planned_.push_back({TRY(work_of(text, *device)), {}});
      }
    }
    chip_ = defective_chip();
    std::vector<std::string> kinds = {"result", "rest"};
    if (chip_) kinds.insert(kinds.end(), {"vgpr", "lds", "hbm", "mfma", "store", "stale"});
    std::erase_if(kinds, [&](const std::string& kind) { return !is_chosen(kind, only_); });
    TRY(count_events(kinds));
    for (const Planned& planned : planned_) {
      auto unit = TRY(make_unit(backends_, choice_, planned.work));
      for (const std::string& kind : kinds) TRY(plant(kind, planned, unit));
      fmt::print("{} done\n", planned.work.name);
      print(kinds);
    }
    fmt::print("{} repetitions without a fault, {} false alarms\n", clean_, alarms_);
    return {};
  }

 private:
  /// A unit of the test with its number of steps, or else a cell.
  static Result<WorkDescription> work_of(std::string_view text, const Device& device) {
    for (WorkDescription& work : corruption_work(device, solo_team())) {
      if (work.name == text) return std::move(work);
    }
    return work_of_cell(text, device);
  }

  Status count_events(const std::vector<std::string>& kinds) {
    for (Planned& planned : planned_) {
      auto unit = TRY(make_unit(backends_, choice_, planned.work));
      for (const std::string& kind : kinds) {
        planned.events[kind] = TRY(events_of(unit, kind, chip_));
        if (planned.events[kind] > 0) ++units_with_[kind];
        fmt::print("{}: {} events of {}\n", planned.work.name, planned.events[kind], kind);
      }
    }
    return {};
  }

  Status plant(const std::string& kind, const Planned& planned, Unit& unit) {
    const std::uint64_t events = planned.events.at(kind);
    if (events == 0) return {};
    constexpr int most_tries = 4, between_checks = 10;
    const int share = (faults_ + units_with_[kind] - 1) / units_with_[kind];
    Tally& tally = tallies_[kind];
    const int wanted = tally.planted + share;
    Random random(std::hash<std::string>()(kind + planned.work.name));
    for (int tries = 0; tally.planted < wanted && tries < most_tries * share; ++tries) {
      const Status ran = run_once(unit, kind, events, chip_, random, tally);
      if (!ran.ok()) {
        // The device is lost: begin anew.
        unit.work.reset();
        unit.device.reset();
        if (chip_) chip_->reset();
        unit = TRY(make_unit(backends_, choice_, planned.work));
      } else if (tries % between_checks == 0) {
        const Sums sums = TRY(unit.work->repeat());
        ++clean_;
        if (!unit.work->differing(sums, unit.expected).empty()) ++alarms_;
      }
    }
    return {};
  }

  void print(const std::vector<std::string>& kinds) {
    fmt::print("{:8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "fault", "planted", "stopped",
               "changed", "found", "hidden", "blamed", "later");
    for (const std::string& kind : kinds) {
      const Tally& tally = tallies_[kind];
      fmt::print("{:8} {:8} {:8} {:8} {:8} {:8} {:8} {:8}\n", kind, tally.planted, tally.stopped,
                 tally.changed, tally.found, tally.hidden, tally.blamed, tally.later);
    }
    std::fflush(stdout);
  }

  const int faults_;
  const std::string choice_, only_;
  std::vector<std::unique_ptr<Backend>> backends_;
  std::optional<DefectiveChip> chip_;
  std::vector<Planned> planned_;
  std::map<std::string, int> units_with_;
  std::map<std::string, Tally> tallies_;
  int alarms_ = 0, clean_ = 0;
};

}  // namespace
}  // namespace assay::health

int main(int argc, char** argv) {
  if (const auto status = assay::run_as_rtc_worker(argc, argv)) return *status;
  const int faults = argc > 1 ? std::atoi(argv[1]) : 300;
  const auto done =
      assay::health::Rates(faults, argc > 2 ? argv[2] : "cpu", argc > 4 ? argv[4] : "")
          .measure(argc > 3 ? argv[3] : assay::health::small_units);
  if (done.ok()) return 0;
  fmt::print(stderr, "{}\n", done.error().message);
  return 1;
}
