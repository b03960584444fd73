// A diagnosis as text: problems first, in full; passed checks in one line each. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "advise/doctor/doctor.h"
#include "cli/terminal.h"

namespace assay::cli {

/// What a finding is about: "GPU 0-7", "mlx5_0, 3", "GPU 3 (0000:3b:00.0)". With
/// several subjects the text in parentheses is left out, and only the first four kinds are named.
std::string subjects_text(const std::vector<std::string>& subjects);

/// "8 x AMD Instinct MI300X (SPX/NPS1), ROCm 6.2.4, virtual machine: kvm"
std::string machine_text(const Diagnosis& diagnosis);

/// `all` also names the checks that do not apply; `width` 0 means unlimited.
std::string diagnosis_text(const Diagnosis& diagnosis, bool all, std::size_t width,
                           const Style& style);

/// One aligned line for each of the findings with this judgement, and an empty line after them.
std::string short_text(const std::vector<FoldedFinding>& findings, Judgement judgement,
                       std::size_t width, const Style& style);

/// "24 passed, 2 warnings, 1 failed, 3 unknown"
std::string summary_text(const std::vector<FoldedFinding>& findings);

}  // namespace assay::cli
