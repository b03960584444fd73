// Lists of GEMMs to tune, in order of importance.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "advise/tune/gemm/blas_log.h"
#include "core/result.h"
#include "results/record/cell.h"
#include "results/record/device_facts.h"

namespace assay {

using ProductList = CountedList<GemmProblem>;

/// Returns the GEMMs of cells of the benchmark gemm, in all layouts that they name, each once.
/// Cells of other benchmarks are ignored.
ProductList products_of_cells(const std::vector<Cell>& cells);

/// Returns the GEMMs in a file: TunableOp's untuned calls or results, hipBLASLt's overrides, or a
/// log of hipBLASLt, rocBLAS or PyTorch. The content shows the format. Error: as read_operand()
/// (core/read_file.h), for 256 MiB unless it is a log; usage, naming the path, if a line of a log
/// is longer than 1 MiB or there is no GEMM, not even one that is left out.
Result<ProductList> products_of_file(const std::filesystem::path& path);

/// Merges equal GEMMs, summing their calls, and sorts them by total time at the device's rooflines,
/// longest first. GEMMs whose roofline is unknown come before the others, by FLOPs.
ProductList ordered(const ProductList& list, const DeviceFacts& facts);

}  // namespace assay
