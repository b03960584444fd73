// The work that the test for silent data corruption and the burn-in repeat: cells of benchmarks.
#pragma once

#include <string_view>
#include <vector>

#include "advise/health/checked_work.h"

namespace assay::health {

/// The work for this device: every kind of unit of a chip, in an order that alternates between
/// compute, memory and links. With several ranks also collectives.
std::vector<WorkDescription> corruption_work(const Device& device, const Team& team);

/// The work of one cell, given as "gemm shape=64 dtype=bf16". Error: usage.
Result<WorkDescription> work_of_cell(std::string_view text, const Device& device);

/// Which part of a device a burn-in keeps busy.
enum class Load { products, training, memory, copies, all };
std::vector<WorkDescription> burn_work(Load load, const Device& device);

/// Returns whether `name` begins with one of the texts in `only`, between commas; or `only` is
/// empty.
bool is_chosen(std::string_view name, std::string_view only);

}  // namespace assay::health
