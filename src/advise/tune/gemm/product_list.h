// Which matrix products to tune, and in which order.
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

/// Of cells of the benchmark gemm, for all layouts they name; other cells are passed over.
ProductList products_of_cells(const std::vector<Cell>& cells);

/// Of a file: TunableOp's untuned calls or results, hipBLASLt's overrides, or a log of hipBLASLt,
/// rocBLAS or PyTorch; what it is, its content says. Error: usage, naming the path, if it cannot be
/// read, or holds no matrix product.
Result<ProductList> products_of_file(const std::filesystem::path& path);

/// Each product once, with its calls added up, those first that take the most time in total if all
/// ran at the device's rooflines; without known roofs, by FLOPs.
ProductList ordered(const ProductList& list, const DeviceFacts& facts);

}  // namespace assay
