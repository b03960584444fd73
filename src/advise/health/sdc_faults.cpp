#include "advise/health/sdc_faults.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "advise/health/corruption_work.h"
#include "advise/health/memory_patterns.h"

namespace assay::health {
namespace {

Status can_plant(const PlantedFault& fault, const UnderTest& unit) {
  if (unit.report.name != patterns_name) {
    return unit.work ? unit.work->can_plant(fault) : Status();
  }
  if (fault.buffer > 0) {
    return Error{
        ErrorKind::usage,
        fmt::format("fault \"{}\": patterns have no buffers; leave buffer out", fault.text)};
  }
  if (fault.launch <= memory_pattern_count) return {};
  return Error{ErrorKind::usage,
               fmt::format("fault \"{}\": there is no pattern {}; allowed: 1 to {}", fault.text,
                           fault.launch, memory_pattern_count)};
}

}  // namespace

bool is_of(const PlantedFault& fault, const UnderTest& unit, int rank) {
  return fault.rank == rank && unit.report.name.starts_with(fault.work);
}

Status find_units(std::span<const PlantedFault> faults, std::span<const UnderTest> units,
                  const Device& device, const Team& team) {
  std::vector<std::string> names;
  for (const UnderTest& unit : units) {
    const Cell& cell = unit.description.cell;
    if (unit.report.name == patterns_name ||
        !find_benchmark(cell.benchmark())->unsupported(cell, device)) {
      names.push_back(unit.report.name);
    }
  }
  for (const PlantedFault& fault : faults) {
    // Devices differ in their units, so each rank looks for those of its own faults.
    if (fault.rank == team.rank() || fault.rank >= team.size()) {
      TRY(check_planted_fault(fault, names, team.size()));
    }
  }
  return {};
}

Status find_operations(std::span<const PlantedFault> faults, std::span<const UnderTest> units,
                       int rank) {
  for (const PlantedFault& fault : faults) {
    Status found;
    for (const UnderTest& unit : units) {
      if (!is_of(fault, unit, rank)) continue;
      found = can_plant(fault, unit);
      if (found.ok()) break;
    }
    TRY(found);
  }
  return {};
}

}  // namespace assay::health
