// The work that the test for silent data corruption and the burn-in repeat: cells of benchmarks.
#pragma once

#include <string_view>
#include <vector>

#include "advise/health/checked_work.h"

namespace assay::health {

/// Returns the work for this device: cells that use every kind of unit of a chip (vector and matrix
/// units for each type, memory, links), in an order that alternates between these. Cells that the
/// device lacks are left out. Several ranks get collectives, too, at the end.
std::vector<WorkDescription> corruption_work(const Device& device, const Team& team);

/// Returns the work of one cell, given as "gemm shape=64 dtype=bf16", for tests and bench. Error:
/// usage if `text` does not name exactly one cell on this device.
Result<WorkDescription> work_of_cell(std::string_view text, const Device& device);

/// What a burn-in repeats: cells of the benchmark gemm, train, memory or copy, or all work.
enum class Load { products, training, memory, copies, all };
/// Returns the part of corruption_work() of one rank that belongs to `load`. A repetition of a
/// product enqueues it 8 to 64 times, so that there are few pauses.
std::vector<WorkDescription> burn_work(Load load, const Device& device);

/// Returns whether `name`, such as WorkDescription::name, begins with one of the texts in `only`,
/// which commas separate; true if `only` is empty.
bool is_chosen(std::string_view name, std::string_view only);

}  // namespace assay::health
