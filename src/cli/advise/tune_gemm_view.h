// What `assay tune gemm` found, as a table and as JSON. Pure functions.
#pragma once

#include <span>
#include <string>

#include "advise/tune/gemm/gemm_files.h"
#include "advise/tune/gemm/pytorch.h"
#include "cli/terminal.h"
#include "core/json_fwd.h"
#include "results/record/device_facts.h"

namespace assay::cli {

/// The list of products to tune, before anything was measured.
std::string product_list_text(std::span<const CountedProblem> products, const DeviceFacts& facts,
                              std::size_t width, const Style& style);
/// Time before and after, gain with its interval, share of the roofline; then the total time saved.
std::string tuned_text(std::span<const TunedProduct> products, std::size_t width,
                       const Style& style);
std::string check_text(const PyTorchCheck& check, std::size_t width, const Style& style);

Json product_json(const CountedProblem& product);
Json tuned_json(std::span<const TunedProduct> products);
Json check_json(const PyTorchCheck& check);

}  // namespace assay::cli
